internal import ICELite
internal import Transport
import TransportRuntime

extension Micro {
    /// What each packet of a call goes through. `raw-` is libsrtp2 without us: subtract it.
    static var media: [Benchmark] { stun + rtp + srtp + audio + line }

    private static var stun: [Benchmark] {
        let key = STUNKey(password: "VOkJxbRl1RmTxUk/WvJxBt")
        let request = stunRequest(key)
        return [
            Benchmark("micro/stun/parse", note: "binding request, \(request.count) bytes") {
                { iterations in
                    var sum: UInt32 = 0
                    for _ in 0..<iterations {
                        guard let message = try? STUNMessage(parsing: request.span.bytes) else { return }
                        sum &+= message.priority ?? 0
                    }
                    keep(sum)
                }
            },
            Benchmark("micro/stun/parse-verify", note: "with HMAC-SHA1 and CRC-32") {
                { iterations in
                    var good = 0
                    for _ in 0..<iterations {
                        guard let message = try? STUNMessage(parsing: request.span.bytes) else { return }
                        if message.hasValidFingerprint, message.verifies(with: key) { good &+= 1 }
                    }
                    precondition(good == iterations, "the request must verify")
                }
            },
        ]
    }

    private static func stunRequest(_ key: STUNKey) -> [UInt8] {
        let pool = PacketPool(size: 1)
        guard var packet = pool.take() else { return [] }
        packet.write { out in
            do throws(STUNError) {
                let id = STUNTransactionID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C)
                let writer = try STUNWriter(.request, transactionID: id, into: &out)
                try writer.append(username: Array("evtj".utf8), Array("h6vY".utf8), into: &out)
                try writer.append(.priority, 0x6E00_01FF as UInt32, into: &out)
                try writer.append(.iceControlling, 0x932F_F9B1_5126_3B36 as UInt64, into: &out)
                try writer.append(.sha1, key: key, into: &out)
                try writer.appendFingerprint(into: &out)
            } catch {
                preconditionFailure("the request must fit: \(error)")
            }
        }
        return packet.bytes.withUnsafeBytes { Array($0) }
    }

    private static var rtp: [Benchmark] {
        var bytes: [UInt8] = [0x80, 0x6F, 0, 1, 0, 0, 3, 0xC0, 1, 2, 3, 4]
        bytes += [UInt8](repeating: 0x5A, count: SRTPBench.payloadByteCount)
        let packet = bytes
        return [
            Benchmark("micro/rtp/parse-header") {
                { iterations in
                    var sum: UInt32 = 0
                    for _ in 0..<iterations {
                        guard let header = try? RTPHeader(parsing: packet.span.bytes) else { return }
                        sum &+= header.timestamp
                    }
                    keep(sum)
                }
            }
        ]
    }

    private static var srtp: [Benchmark] {
        SRTPProfile.allCases.flatMap { profile in
            [false, true].flatMap { unprotects in
                let name =
                    "\(unprotects ? "protect-unprotect" : "protect")-\(profile == .aeadAES128GCM ? "gcm" : "sha1")"
                let note = "\(SRTPBench.payloadByteCount) bytes of payload"
                return [
                    Benchmark("micro/srtp/\(name)", note: note) {
                        guard let bench = try? SRTPBench(profile) else { preconditionFailure("no SRTP session") }
                        return { iterations in
                            for _ in 0..<iterations { bench.turn(unprotects: unprotects) }
                            precondition(bench.failures == 0, "every packet must pass")
                        }
                    },
                    Benchmark("micro/srtp/raw-\(name)", note: note) {
                        guard let bench = RawSRTPBench(profile) else { preconditionFailure("no SRTP session") }
                        return { iterations in
                            for _ in 0..<iterations { bench.turn(unprotects: unprotects) }
                            precondition(bench.failures == 0, "every packet must pass")
                        }
                    },
                ]
            }
        }
    }

    private static var audio: [Benchmark] {
        let frame = { (name: String, note: String, turn: @escaping (AudioBench) -> () -> Void) in
            Benchmark(name, note: note) {
                guard let bench = try? AudioBench() else { preconditionFailure("no Opus") }
                let turn = turn(bench)
                return { iterations in for _ in 0..<iterations { turn() } }
            }
        }
        return [
            frame("micro/opus/encode", "20 ms, 24 kbit/s, complexity 9") { $0.encodeFrame },
            frame("micro/opus/decode", "20 ms") { $0.decodeFrame },
            frame("micro/jitter/insert-pull-pull", "20 ms, decoding included") { $0.jitterFrame },
        ]
    }

    private static var line: [Benchmark] {
        [
            Benchmark("micro/websocket/write-read", note: "RTP, masked, both ends") {
                guard let bench = try? WebSocketBench() else { preconditionFailure("the line must open") }
                return { iterations in
                    let before = bench.received
                    for _ in 0..<iterations { bench.turn() }
                    precondition(bench.received - before == iterations, "every message must arrive")
                }
            }
        ]
    }
}
