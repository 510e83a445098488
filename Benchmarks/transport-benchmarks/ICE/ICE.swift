internal import COpenSSL
internal import ICELite
internal import TransportRuntime

/// The suite `ice`: what a connectivity check costs, and what junk costs the agents.
enum ICE {
    /// Its benchmarks, in the order of the report.
    static var benchmarks: [Benchmark] { hmac + stun + junk + fullJunk + candidates + checks }

    static let localPassword = "VerySecretLocalPwd123456"
    /// What junk may cost, nanoseconds a datagram or candidate.
    static let junkLimit = 2_000.0

    /// Three ways to the same HMAC-SHA1 of one check; run them with --interleave, trust the ratio.
    private static var hmac: [Benchmark] {
        let message = check()
        let key = Array(localPassword.utf8)
        let note = "\(message.count) bytes"
        return [
            Benchmark("ice/hmac-sha1/kept-pads", note: note) {
                let bench = HMACBench(key: key, message: message)
                return { iterations in
                    for _ in 0..<iterations { bench.keptPads() }
                    precondition(bench.isRight, "the value must be right")
                }
            },
            Benchmark("ice/hmac-sha1/evp-mac-duplicate", note: note) {
                let bench = HMACBench(key: key, message: message)
                return { iterations in
                    for _ in 0..<iterations { bench.duplicatedMAC() }
                    precondition(bench.isRight, "the value must be right")
                }
            },
            Benchmark("ice/hmac-sha1/one-shot", note: note) {
                let bench = HMACBench(key: key, message: message)
                return { iterations in
                    for _ in 0..<iterations { bench.oneShot() }
                    precondition(bench.isRight, "the value must be right")
                }
            },
        ]
    }

    private static var stun: [Benchmark] {
        let request = check()
        let key = STUNKey(password: localPassword)
        return [
            Benchmark("ice/stun/parse", note: "check, \(request.count) bytes") {
                { iterations in
                    var sum: UInt32 = 0
                    for _ in 0..<iterations {
                        guard let message = try? STUNMessage(parsing: request.span.bytes) else { return }
                        sum &+= message.priority ?? 0
                    }
                    keep(sum)
                }
            },
            Benchmark("ice/stun/parse-fingerprint", note: "CRC-32 besides") {
                { iterations in
                    var good = 0
                    for _ in 0..<iterations {
                        guard let message = try? STUNMessage(parsing: request.span.bytes) else { return }
                        if message.hasValidFingerprint { good &+= 1 }
                    }
                    precondition(good == iterations, "the FINGERPRINT must be right")
                }
            },
            Benchmark("ice/stun/parse-verify", note: "CRC-32 and HMAC-SHA1 besides") {
                { iterations in
                    var good = 0
                    for _ in 0..<iterations {
                        guard let message = try? STUNMessage(parsing: request.span.bytes) else { return }
                        if message.hasValidFingerprint, message.verifies(with: key) { good &+= 1 }
                    }
                    precondition(good == iterations, "the check must verify")
                }
            },
            Benchmark("ice/stun/encode-check", note: "written and signed") {
                let bench = CheckBench()
                return { iterations in
                    for index in 0..<iterations { bench.encode(UInt64(index)) }
                    precondition(bench.byteCount == request.count, "the check must be whole")
                }
            },
        ]
    }

    /// A lite agent under junk: handled and drained, nothing of it may change more than counters.
    private static var junk: [Benchmark] {
        var random = Randomness.seeded(7)
        let noise = random.bytes(200)
        var bent = check()
        bent[bent.count - 1] ^= 1
        var huge = check()
        // An attribute that says it is longer than the datagram.
        huge[22] = 0xFF
        let kinds: [(name: String, bytes: [UInt8])] = [
            ("random-bytes", noise), ("bad-fingerprint", bent), ("attribute-overrun", huge),
            ("unknown-ufrag", check(ufrag: "NopeNope")),
            ("wrong-password", check(password: "NotThePasswordAtAll12345")),
            ("no-integrity", check(isSigned: false)),
        ]
        return kinds.map { kind in
            Benchmark("ice/junk/\(kind.name)", note: "\(kind.bytes.count) bytes", limit: junkLimit) {
                let bench = CheckBench()
                bench.forget()
                return { iterations in
                    for _ in 0..<iterations { bench.handle(kind.bytes) }
                    precondition(bench.tupleCount == 0, "junk must change nothing")
                }
            }
        }
    }

    /// A full agent whose 64 pairs have been silent for two minutes, with and without a restart outstanding.
    private static var fullJunk: [Benchmark] {
        [false, true].flatMap { isRestarting in
            FullAgentBench.Junk.allCases.map { kind in
                Benchmark("ice/full\(isRestarting ? "-restart" : "")/\(kind.rawValue)", limit: junkLimit) {
                    let bench = FullAgentBench(isRestarting: isRestarting)
                    let bytes = bench.bytes(of: kind)
                    return { iterations in
                        let before = bench.footprint
                        for _ in 0..<iterations { bench.handle(bytes) }
                        precondition(bench.footprint == before, "junk must change nothing")
                    }
                }
            }
        }
    }

    /// Candidates as text to the same agent: none of them is one it can use, or it knows it already.
    private static var candidates: [Benchmark] {
        let head = "candidate:842163049 1 udp 1677729535 192.0.2.1 51556 typ host"
        let kinds: [(name: String, text: String)] = [
            ("known", head + " generation 0 ufrag 0+/z network-id 1 network-cost 999"),
            ("known-v6", "candidate:1 1 udp 9 2001:db8:0:1234:5678:9abc:def0:1 9 typ srflx raddr 2001:db8::1 rport 9"),
            ("longest", head + String(repeating: " a b", count: 15) + " c " + String(repeating: "d", count: 900)),
            ("507-fields", "candidate:" + String(repeating: "1 ", count: 506) + "1"),
            ("507-fields-behind-the-type", head + String(repeating: " a b", count: 240)),
            ("one-field", "candidate:" + String(repeating: "1", count: 1_014)),
            ("too-long", head + String(repeating: " a b", count: 10_000)),
            ("mdns", "candidate:1 1 udp 9 0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f.local 51556 typ host generation 0"),
            ("long-name", "candidate:1 1 udp 9 " + String(repeating: "a", count: 980) + " 9 typ host"),
            ("tcp", "candidate:1 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active generation 0"),
            ("spaces", "candidate:" + String(repeating: " ", count: 1_013) + "1"),
        ]
        return kinds.map { kind in
            Benchmark("ice/candidate/\(kind.name)", note: "\(kind.text.utf8.count) bytes", limit: junkLimit) {
                let bench = FullAgentBench(isRestarting: false)
                return { iterations in
                    let before = bench.footprint
                    for _ in 0..<iterations { bench.add(kind.text) }
                    precondition(bench.footprint == before, "no candidate must come of it")
                }
            }
        }
    }

    private static var checks: [Benchmark] {
        let request = check()
        return [
            Benchmark("ice/lite/check-in-answer-out", note: "verified, answered, signed") {
                let bench = CheckBench()
                return { iterations in
                    let before = bench.answers
                    for _ in 0..<iterations { bench.handle(request) }
                    precondition(bench.answers - before == iterations, "every check must be answered")
                }
            }
        ]
    }

    /// A check as a peer of our kind sends it.
    static func check(
        ufrag: String = "LocUfrag", password: String = localPassword, isSigned: Bool = true
    ) -> [UInt8] {
        let pool = PacketPool(size: 1)
        guard var packet = pool.take() else { return [] }
        packet.write { out in
            do throws(STUNError) {
                try write(
                    STUNTransactionID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C), ufrag: Array(ufrag.utf8),
                    key: isSigned ? STUNKey(password: password) : nil, into: &out)
            } catch {
                preconditionFailure("the check must fit: \(error)")
            }
        }
        return packet.bytes.withUnsafeBytes { Array($0) }
    }

    static func write(
        _ id: STUNTransactionID, ufrag: [UInt8], key: STUNKey?, into out: inout OutputRawSpan
    ) throws(STUNError) {
        let writer = try STUNWriter(.request, transactionID: id, into: &out)
        try writer.append(username: ufrag, [0x52, 0x65, 0x6D, 0x55, 0x66, 0x72, 0x61, 0x67], into: &out)
        try writer.append(.priority, 0x6E00_01FF as UInt32, into: &out)
        try writer.append(.iceControlling, 0x932F_F9B1_5126_3B36 as UInt64, into: &out)
        try writer.append(flag: .useCandidate, into: &out)
        try writer.append(.nomination, 1 as UInt32, into: &out)
        try writer.append(.routabilityToken, 0 as UInt64, into: &out)
        if let key { try writer.append(.sha1, key: key, into: &out) }
        try writer.appendFingerprint(into: &out)
    }
}
