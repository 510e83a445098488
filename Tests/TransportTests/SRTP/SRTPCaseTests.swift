// The names are the keys of the vector files.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CSRTP
import Foundation
import ICELite
import Testing
import TransportRuntime

@testable import TransportMedia

/// Cases of public bug reports on SRTP: each test asserts what its case expects.
@Suite("SRTP cases") struct SRTPCaseTests {
    private let end = SRTPSessionTests()

    // MARK: - Keys and ciphers

    @Test("RTP-01: the session keys and the keystream of RFC 3711") func keyDerivation() throws {
        struct Vectors: Decodable {
            struct Derivation: Decodable {
                var master_key: String
                var master_salt: String
                var cipher_key: String
                var cipher_salt: String
                var auth_key: String
            }
            struct Keystream: Decodable {
                var session_key: String
                var session_salt: String
                var keystream_first48: String
            }
            var b3: Derivation
            var b2: Keystream
        }
        #expect(
            try RTPCase.expect("RTP-01", as: String.self) == "Derive the listed session keys; keystream equals.")
        let file = try JSONDecoder().decode(Vectors.self, from: vectorFile("SRTP/RTP-01.json"))
        let master = bytes(hex: file.b3.master_key) + bytes(hex: file.b3.master_salt)
        let reference = try SRTPReference(profile: .aes128CMHMACSHA1_80, master: master)
        #expect(reference.rtp.encryption == bytes(hex: file.b3.cipher_key))
        #expect(reference.rtp.salt == bytes(hex: file.b3.cipher_salt))
        #expect(reference.rtp.authentication == bytes(hex: file.b3.auth_key))
        let counter = SRTPReference.counter(salt: bytes(hex: file.b2.session_salt), ssrc: 0, index: 0)
        let stream = try SRTPReference.counterMode(
            key: bytes(hex: file.b2.session_key), counter: counter, Array(repeating: 0, count: 48))
        #expect(stream == bytes(hex: file.b2.keystream_first48))
        // What the session makes of that master key is what the reference does.
        var session = try SRTPSession(
            keys: SRTPKeys(profile: .aes128CMHMACSHA1_80, local: master, remote: master), localSSRC: 0x1111)
        let plain = SRTPSessionTests.rtp(1)
        #expect(try end.protect(plain, &session) == reference.protectRTP(plain, index: 1))
    }

    /// libsrtp2 takes no session keys from outside: the packet proves the reference, the reference the session.
    @Test("RTP-02: the AES-128-GCM packet of RFC 7714") func aead() throws {
        struct Vector: Decodable {
            var session_key: String
            var session_salt: String
            var rtp: String
            var roc: UInt64
            var srtp: String
        }
        #expect(try RTPCase.expect("RTP-02", as: String.self) == "Encrypt and decrypt match.")
        let file = try JSONDecoder().decode(Vector.self, from: vectorFile("SRTP/RTP-02.json"))
        let plain = bytes(hex: file.rtp)
        let keys = SRTPReference.SessionKeys(
            encryption: bytes(hex: file.session_key), salt: bytes(hex: file.session_salt))
        let given = SRTPReference(profile: .aeadAES128GCM, rtp: keys, rtcp: keys)
        let index = file.roc << 16 | UInt64(plain[2]) << 8 | UInt64(plain[3])
        #expect(try given.protectRTP(plain, index: index) == bytes(hex: file.srtp))
        let derived = try SRTPReference(profile: .aeadAES128GCM, master: SRTPVectorTests.master(.aeadAES128GCM))
        let master = SRTPVectorTests.master(.aeadAES128GCM)
        var session = try SRTPSession(
            keys: SRTPKeys(profile: .aeadAES128GCM, local: master, remote: master), localSSRC: 0x5501_A0B2)
        session.addRemoteSSRC(0x5501_A0B2)
        let protected = try end.protect(plain, &session)
        #expect(try protected == derived.protectRTP(plain, index: index))
        let got = try end.unprotect(protected, &session)
        #expect(got.result == .ok && got.bytes == plain)
    }

    // MARK: - Recorded packets

    private struct Recording: Decodable {
        struct Item: Decodable {
            var srtp: String?
            var srtcp: String?
            var plain: String?
            var expect: String
            /// Of a report.
            var index: UInt32?
        }
        var master_key: String
        var master_salt: String
        /// Packets of the replay window the case was written for.
        var window: Int?
        var packets: [Item]
    }

    private static func recording(_ id: String) throws -> Recording {
        try JSONDecoder().decode(Recording.self, from: vectorFile("SRTP/\(id).json"))
    }

    private static func receiver(of recording: Recording) throws -> SRTPSession {
        let master = bytes(hex: recording.master_key) + bytes(hex: recording.master_salt)
        var receiver = try SRTPSession(
            keys: SRTPKeys(profile: .aes128CMHMACSHA1_80, local: master, remote: master), localSSRC: 1)
        receiver.addRemoteSSRC(0x1A2B_3C4D)
        return receiver
    }

    /// Gives the packets of the case to a receiver, asserts what stands beside each, and returns the receiver.
    private func play(_ id: String, _ results: [String: SRTPResult]) throws -> SRTPSession {
        let recording = try Self.recording(id)
        var receiver = try Self.receiver(of: recording)
        for (index, item) in recording.packets.enumerated() {
            let packet = bytes(hex: item.srtp ?? item.srtcp ?? "")
            let got = try end.unprotect(packet, &receiver, rtcp: item.srtcp != nil)
            #expect(got.result == results[item.expect], "\(id), packet \(index)")
            if item.expect == "ok", let plain = item.plain { #expect(got.bytes == bytes(hex: plain)) }
        }
        return receiver
    }

    /// What libsrtp2 makes of the case's packets with a replay window of `window`, in the words of the case.
    private func outcomes(_ recording: Recording, window: Int) throws -> [String] {
        let words = [
            Int(srtp_err_status_ok.rawValue): "ok", Int(srtp_err_status_replay_fail.rawValue): "replay_fail",
            Int(srtp_err_status_replay_old.rawValue): "replay_old",
        ]
        SRTPSession.prepareLibrary()
        let context = try #require(srtp_shim_create())
        defer { srtp_dealloc(context) }
        let key = bytes(hex: recording.master_key) + bytes(hex: recording.master_salt)
        let profile = UInt32(SRTPProfile.aes128CMHMACSHA1_80.rawValue)
        try #require(srtp_shim_add(context, profile, 0, 0x1A2B_3C4D, key, key.count, UInt(window)) == 0)
        return recording.packets.map { item in
            var packet = bytes(hex: item.srtp ?? "")
            let result = srtp_shim_unprotect(context, &packet, Int32(packet.count))
            return words[result >= 0 ? 0 : Int(-result)] ?? "\(result)"
        }
    }

    @Test("RTP-03: over the wrap every packet decrypts") func wrap() throws {
        #expect(try RTPCase.expect("RTP-03", as: String.self) == "All decrypt.")
        let receiver = try play("RTP-03", ["ok": .ok])
        #expect(receiver.statistics.unprotected == 4)
    }

    @Test("RTP-05: a stream whose first packets before the wrap are lost fails, counted; ours never begins there")
    func beginsTooHigh() throws {
        struct Expect: Decodable { var our_initial_seq_max: UInt16 }
        let expect = try RTPCase.expect("RTP-05", as: Expect.self)
        var receiver = try play("RTP-05", ["auth_fail": .dropped(.authentication)])
        #expect(receiver.statistics.dropped(.authentication) == 2 && receiver.statistics.unprotected == 0)
        // No state is poisoned: a packet of the first round is taken.
        let first = try Self.recording("RTP-03").packets[0]
        #expect(try end.unprotect(bytes(hex: first.srtp ?? ""), &receiver).result == .ok)
        var randomness = Randomness.seeded(5)
        for _ in 0..<5_000 {
            let first = SequenceNumber.randomInitial(using: &randomness).rawValue
            #expect((1...expect.our_initial_seq_max).contains(first))
        }
        for _ in 0..<20 {
            let sender = try AudioSender(ssrc: SSRC(1), payloadType: .defaultOpus, randomness: &randomness)
            let first = sender.nextSequence.rawValue
            #expect((1...Int64(expect.our_initial_seq_max)).contains(first))
        }
    }

    /// Written for a window of 128, in which libsrtp2 gives what the case expects, word for word. Ours has 512, which RFC
    /// 3711 §3.3.2 allows (64 at least): there the one packet that is too old is still known to be a repeat. What is too
    /// old for ours is asked beside it.
    @Test("RTP-06: replays and packets older than the window are told apart and counted") func replay() throws {
        let words = try RTPCase.expect("RTP-06", as: String.self).prefix { $0 != "." }
        #expect(words == "ok, ok, replay, ok, replay-old, ok")
        let recording = try Self.recording("RTP-06")
        #expect(recording.window == 128 && SRTPSession.replayWindow == 512)
        #expect(
            recording.packets.map { $0.expect.replacingOccurrences(of: "replay_fail", with: "replay") }
                == words.split(separator: ", ").map { $0.replacingOccurrences(of: "-", with: "_") })
        #expect(try outcomes(recording, window: 128) == recording.packets.map(\.expect))
        let receiver = try play(
            "RTP-06", ["ok": .ok, "replay_fail": .dropped(.replay), "replay_old": .dropped(.replay)])
        #expect(receiver.statistics.dropped(.replay) == 2 && receiver.statistics.unprotected == 4)
        for profile in SRTPProfile.allCases {
            var sender = try SRTPSession(keys: SRTPSessionTests.keys(profile), localSSRC: 0x1111)
            var receiver = try SRTPSession(keys: SRTPSessionTests.keys(profile, swapped: true), localSSRC: 0x2222)
            receiver.addRemoteSSRC(0x1111)
            var packets: [[UInt8]] = []
            for sequence in UInt16(1_000)..<1_600 {
                packets.append(try end.protect(SRTPSessionTests.rtp(sequence), &sender))
            }
            #expect(try end.unprotect(packets[599], &receiver).result == .ok)
            for (index, packet) in packets.enumerated().dropLast() {
                let age = 599 - index
                let wanted: SRTPResult = age < SRTPSession.replayWindow ? .ok : .dropped(.replayOld)
                #expect(try end.unprotect(packet, &receiver).result == wanted, "age \(age)")
            }
            for packet in packets { #expect(try end.unprotect(packet, &receiver).result != .ok) }
            #expect(receiver.statistics.dropped(.replay) == 512 && receiver.statistics.dropped(.replayOld) == 176)
        }
    }

    @Test("RTP-08: a forged packet moves nothing, whatever number it names") func forged() throws {
        #expect(
            try RTPCase.expect("RTP-08", as: String.self) == "Forged ones fail; later genuine ones decrypt.")
        let receiver = try play("RTP-08", ["ok": .ok, "auth_fail": .dropped(.authentication)])
        #expect(receiver.statistics.dropped(.authentication) == 2 && receiver.statistics.unprotected == 4)
        for profile in SRTPProfile.allCases {
            var sender = try SRTPSession(keys: SRTPSessionTests.keys(profile), localSSRC: 0x1111)
            var stranger = try SRTPSession(keys: SRTPSessionTests.keys(profile, seed: 9), localSSRC: 0x1111)
            var receiver = try SRTPSession(keys: SRTPSessionTests.keys(profile, swapped: true), localSSRC: 0x2222)
            receiver.addRemoteSSRC(0x1111)
            for sequence in UInt16(500)..<700 {
                for jump in [UInt16(1), 40, 600, 32_000, 33_000] {
                    var packet = try end.packet(SRTPSessionTests.rtp(sequence &+ jump))
                    // Whatever the stranger's own counter makes of that jump, it does not authenticate.
                    _ = stranger.protectRTP(&packet)
                    let forged = end.contents(packet) + [UInt8](repeating: 0, count: 4)
                    #expect(try end.unprotect(forged, &receiver).result == .dropped(.authentication))
                }
                let plain = SRTPSessionTests.rtp(sequence)
                let got = try end.unprotect(end.protect(plain, &sender), &receiver)
                #expect(got.result == .ok && got.bytes == plain, "\(sequence)")
            }
        }
    }

    @Test("RTP-09: reports have an index of their own, and repeats of it are refused") func reports() throws {
        let sentence = try RTPCase.expect("RTP-09", as: String.self)
        #expect(sentence == "ok, ok, replay, ok; index independent of RTP.")
        let words = sentence.prefix { $0 != ";" }.split(separator: ", ").map(String.init)
        let recording = try Self.recording("RTP-09")
        #expect(recording.packets.map { $0.expect == "replay_fail" ? "replay" : $0.expect } == words)
        let receiver = try play("RTP-09", ["ok": .ok, "replay_fail": .dropped(.replay)])
        #expect(receiver.statistics.unprotected == 3)
        // The trailer, from the right end: the tag of 80 bits, before it the E bit and 31 bits of index, the first of
        // them 1 (RFC 3711 §3.4).
        for item in recording.packets {
            let packet = bytes(hex: item.srtcp ?? "")
            let word = packet.dropLast(10).suffix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            #expect(word >> 31 == 1 && word & 0x7FFF_FFFF == item.index)
        }
        for profile in SRTPProfile.allCases { try trailer(profile) }
        // RTP with a rollover in between moves no report's index, and the other way round.
        for profile in SRTPProfile.allCases {
            let reference = try SRTPReference(profile: profile, master: SRTPVectorTests.master(profile))
            var session = try SRTPVectorTests.session(profile)
            let plain = SRTPSessionTests.rtcp(ssrc: SRTPVectorTests.ssrc)
            for turn in UInt32(1)...5 {
                let rtp = SRTPVectorTests.rtp(UInt64(turn) * 30_000)
                #expect(
                    try end.protect(rtp, &session) == reference.protectRTP(rtp, index: UInt64(turn) * 30_000))
                #expect(try end.protect(plain, &session, rtcp: true) == reference.protectRTCP(plain, index: turn))
            }
        }
    }

    /// Our own reports: E set, indices 1, 2, …; a report whose E is not set is none, authentic or not: every profile of
    /// ours encrypts.
    private func trailer(_ profile: SRTPProfile) throws {
        let tag = profile == .aes128CMHMACSHA1_80 ? 10 : 0
        let ssrc: UInt32 = 0x1111
        var sender = try SRTPSession(keys: SRTPSessionTests.keys(profile), localSSRC: ssrc)
        var receiver = try SRTPSession(keys: SRTPSessionTests.keys(profile, swapped: true), localSSRC: 0x2222)
        receiver.addRemoteSSRC(ssrc)
        let plain = SRTPSessionTests.rtcp(ssrc: ssrc)
        for index in UInt32(1)...3 {
            let packet = try end.protect(plain, &sender, rtcp: true)
            let position = packet.count - tag - 4
            let word = packet[position..<(position + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            #expect(word == 1 << 31 | index, "\(profile)")
            var inTheClear = packet
            inTheClear[position] &= 0x7F
            #expect(try end.unprotect(inTheClear, &receiver, rtcp: true).result != .ok, "\(profile)")
            #expect(try end.unprotect(packet, &receiver, rtcp: true).result == .ok, "\(profile)")
        }
        guard profile == .aes128CMHMACSHA1_80 else { return }
        // In the clear, by somebody who has the keys.
        let keys = try SRTPSessionTests.keys(profile)
        let reference = try SRTPReference(profile: profile, master: keys.localBytes)
        let open = plain + [0, 0, 0, 9]
        let authentic = try open + SRTPReference.hmacSHA1(key: reference.rtcp.authentication, open).prefix(10)
        #expect(try end.unprotect(authentic, &receiver, rtcp: true).result != .ok)
        #expect(
            try end.unprotect(reference.protectRTCP(plain, index: 9), &receiver, rtcp: true).result == .ok,
            "the same number, encrypted")
    }

    // MARK: - Collisions

    /// The case wants a new SSRC. Ours differs on purpose: a call has one SSRC a direction for its life, by which its audio
    /// is one stream on both carriages. RFC 3550 §8.2 has a colliding end choose anew because in a shared session two
    /// sources could not be told apart; here contexts are one a direction with keys of their own (RFC 5764 §4.2), so that an
    /// SSRC that both ends draw harms nobody. The rest is as the case expects it: goodbye, audio both ways, and (b).
    @Test(
        "RTP-31: both ends with one SSRC hear each other, reports and goodbye included", arguments: SRTPProfile.allCases
    )
    func collision(profile: SRTPProfile) throws {
        struct Expect: Decodable {
            var new_ssrc: Bool
            var bye_sent: Bool
            var audio_both_ways: Bool
        }
        let expect = try RTPCase.expect("RTP-31", as: Expect.self)
        #expect(expect.new_ssrc, "the case's answer, which is not ours")
        let ssrc: UInt32 = 0x1111
        var alice = try SRTPSession(keys: SRTPSessionTests.keys(profile), localSSRC: ssrc)
        var bob = try SRTPSession(keys: SRTPSessionTests.keys(profile, swapped: true), localSSRC: ssrc)
        alice.addRemoteSSRC(ssrc)
        bob.addRemoteSSRC(ssrc)
        var randomness = Randomness.seeded(31)
        var voice = try AudioSender(ssrc: SSRC(ssrc), payloadType: .defaultOpus, randomness: &randomness)
        var ear = try AudioReceiver(payloadType: .defaultOpus)
        var answer = try AudioSender(ssrc: SSRC(ssrc), payloadType: .defaultOpus, randomness: &randomness)
        var otherEar = try AudioReceiver(payloadType: .defaultOpus)
        for turn in 0..<100 {
            let now = Instant.zero + .milliseconds(20 * Int64(turn))
            let isThere = try carry(&voice, &alice, &bob, &ear, now: now)
            let isBack = try carry(&answer, &bob, &alice, &otherEar, now: now)
            #expect((isThere && isBack) == expect.audio_both_ways, "turn \(turn)")
        }
        // (b) What is ours and comes back is dropped.
        let own = try end.protect(SRTPSessionTests.rtp(40_000, ssrc: ssrc), &alice)
        #expect(try end.unprotect(own, &alice).result == .dropped(.authentication))
        #expect(voice.ssrc == answer.ssrc, "one SSRC a call")
        // Reports find the right streams, and so does the goodbye.
        var reporter = RTCPReporter(localSSRC: SSRC(ssrc), cname: "alice", randomness: .seeded(1))
        var other = RTCPReporter(localSSRC: SSRC(ssrc), cname: "bob", randomness: .seeded(2))
        let compound = try RTPVectors.written { out in
            let isWritten = try reporter.writeGoodbye(
                into: &out, sent: voice.counters, reception: &otherEar.pathReception, now: .zero + .seconds(2))
            #expect(isWritten == expect.bye_sent)
        }
        let got = try end.unprotect(end.protect(compound, &alice, rtcp: true), &bob, rtcp: true)
        #expect(got.result == .ok && got.bytes == compound)
        let news = other.handle(got.bytes.span.bytes, reception: &ear.pathReception, now: .zero + .seconds(2))
        #expect(news.saidGoodbye == expect.bye_sent && news.isAboutUs)
        #expect(other.remote?.cumulativeLost == 0 && other.remote?.fractionLost == 0)
    }

    /// One packet from a microphone to an ear; whether it is audio there.
    private func carry(
        _ sender: inout AudioSender, _ from: inout SRTPSession, _ to: inout SRTPSession, _ ear: inout AudioReceiver,
        now: Instant
    ) throws -> Bool {
        var packet = try end.packet([])
        guard sender.next(pcm: nil, into: &packet, now: now), from.protectRTP(&packet) == .ok,
            to.unprotectRTP(&packet) == .ok
        else { return false }
        let header = try RTPHeader(parsing: packet.bytes)
        guard case .audio = ear.receive(packet.bytes, header: header, carriage: .path, now: now) else { return false }
        return true
    }
}
