// The names are the keys of the vector files.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import ICELite
import Testing
import TransportRuntime

@testable import TransportMedia

/// First the reference is proved with the RFCs' vectors, then `SRTPSession` with the reference.
@Suite("SRTP vectors") struct SRTPVectorTests {
    // MARK: - The reference against the RFCs

    struct AESCM: Decodable {
        struct Keystream: Decodable {
            var session_key: String
            var session_salt: String
            var ssrc: UInt32
            var index: UInt64
            var octets: Int
            var offset: String
            var first: String
            var last: String
        }
        struct Derivation: Decodable {
            struct Output: Decodable {
                var label: UInt8
                var octets: String
            }
            var master_key: String
            var master_salt: String
            var outputs: [Output]
        }
        var keystream: Keystream
        var derivation: Derivation
    }

    static func rfc3711() throws -> AESCM {
        try JSONDecoder().decode(AESCM.self, from: vectorFile("SRTP/RFC3711.json"))
    }

    @Test("The reference writes the AES-CM keystream of RFC 3711 B.2 (RTP-01)") func keystream() throws {
        let vector = try Self.rfc3711().keystream
        let counter = SRTPReference.counter(
            salt: bytes(hex: vector.session_salt), ssrc: vector.ssrc, index: vector.index)
        #expect(counter == bytes(hex: vector.offset))
        let stream = try SRTPReference.counterMode(
            key: bytes(hex: vector.session_key), counter: counter, Array(repeating: 0, count: vector.octets))
        let first = bytes(hex: vector.first)
        let last = bytes(hex: vector.last)
        #expect(first.count == 48 && last.count == 48)
        #expect(Array(stream.prefix(48)) == first)
        #expect(Array(stream.suffix(48)) == last)
    }

    @Test("The reference derives the session keys of RFC 3711 B.3 (RTP-01)") func derivation() throws {
        let vector = try Self.rfc3711().derivation
        #expect(vector.outputs.map { bytes(hex: $0.octets).count } == [16, 14, 94])
        for output in vector.outputs {
            let wanted = bytes(hex: output.octets)
            let label = try #require(SRTPReference.Label(rawValue: output.label))
            let derived = try SRTPReference.derive(
                label, key: bytes(hex: vector.master_key), salt: bytes(hex: vector.master_salt), count: wanted.count)
            #expect(derived == wanted, "label \(output.label)")
        }
    }

    struct AEAD: Decodable {
        struct Plain: Decodable {
            var packet: String
            var ssrc: UInt32
            var index: UInt32
        }
        struct Vector: Decodable {
            var section: String
            var kind: String
            var session_key: String
            var iv: String
            var aad: String
            var plaintext: String
            var ciphertext: String
            var tag: String
            var protected: String
        }
        var session_salt: String
        var rtp: Plain
        var rtcp: Plain
        var vectors: [Vector]
    }

    static func rfc7714() throws -> AEAD { try JSONDecoder().decode(AEAD.self, from: vectorFile("SRTP/RFC7714.json")) }

    @Test("The reference makes nonces, ciphertexts and tags of RFC 7714 §16 and §17 (RTP-02)") func aead() throws {
        let file = try Self.rfc7714()
        let salt = bytes(hex: file.session_salt)
        #expect(file.vectors.count == 8)
        for vector in file.vectors {
            let iv =
                vector.kind == "rtp"
                ? SRTPReference.rtpNonce(salt: salt, ssrc: file.rtp.ssrc, index: UInt64(file.rtp.index))
                : SRTPReference.rtcpNonce(salt: salt, ssrc: file.rtcp.ssrc, index: file.rtcp.index)
            #expect(iv == bytes(hex: vector.iv), "§\(vector.section)")
            let sealed = try SRTPReference.seal(
                key: bytes(hex: vector.session_key), iv: iv, aad: bytes(hex: vector.aad), bytes(hex: vector.plaintext))
            #expect(sealed == bytes(hex: vector.ciphertext) + bytes(hex: vector.tag), "§\(vector.section)")
        }
    }

    @Test("The reference lays out the protected packets of RFC 7714 §16.1.1 and §17.1") func aeadPackets() throws {
        let file = try Self.rfc7714()
        let vectors = Dictionary(uniqueKeysWithValues: file.vectors.map { ($0.section, $0) })
        let rtp = try #require(vectors["16.1.1"])
        let rtcp = try #require(vectors["17.1"])
        let keys = SRTPReference.SessionKeys(
            encryption: bytes(hex: rtp.session_key), salt: bytes(hex: file.session_salt))
        let reference = SRTPReference(profile: .aeadAES128GCM, rtp: keys, rtcp: keys)
        #expect(
            try reference.protectRTP(bytes(hex: file.rtp.packet), index: UInt64(file.rtp.index))
                == bytes(hex: rtp.protected))
        #expect(
            try reference.protectRTCP(bytes(hex: file.rtcp.packet), index: file.rtcp.index)
                == bytes(hex: rtcp.protected))
    }

    // MARK: - SRTPSession against the reference

    static let ssrc: UInt32 = 0xCAFE_BABE

    static func master(_ profile: SRTPProfile) -> [UInt8] {
        (0..<(profile.keyLength + profile.saltLength)).map { UInt8($0) &* 37 &+ 11 }
    }

    static func session(_ profile: SRTPProfile) throws -> SRTPSession {
        let master = master(profile)
        return try SRTPSession(keys: SRTPKeys(profile: profile, local: master, remote: master), localSSRC: ssrc)
    }

    /// A packet with `sources` CSRCs, an extension of `extensionWords` words (nil: none) and a payload.
    static func rtp(_ index: UInt64, sources: Int = 0, extensionWords: Int? = nil, payload: Int = 80) -> [UInt8] {
        let sequence = UInt16(truncatingIfNeeded: index)
        var packet = SRTPSessionTests.rtp(sequence, ssrc: ssrc, payload: 0)
        packet[0] |= UInt8(sources) | (extensionWords == nil ? 0 : 0x10)
        packet += (0..<(4 * sources)).map { UInt8($0) &+ 0x90 }
        if let words = extensionWords {
            packet += [0xBE, 0xDE, 0, UInt8(words)] + (0..<(4 * words)).map { UInt8($0) &+ 0x10 }
        }
        return packet + (0..<payload).map { UInt8(truncatingIfNeeded: $0 &* 7) &+ UInt8(truncatingIfNeeded: index) }
    }

    /// Shapes at both sides of a cipher block, with and without CSRCs and extension.
    static let shapes: [(sources: Int, extensionWords: Int?, payload: Int)] = [
        (0, nil, 0), (0, nil, 1), (0, nil, 15), (0, nil, 16), (0, nil, 17), (0, nil, 80), (0, nil, 1_200),
        (0, 0, 80), (0, 1, 80), (0, 5, 33), (3, nil, 80), (15, 2, 40),
    ]

    let pool = PacketPool(size: 2)

    func packet(_ bytes: [UInt8]) throws -> Packet {
        guard var packet = pool.take() else { throw CancellationError() }
        packet.assign(bytes.span.bytes)
        return packet
    }

    func contents(_ packet: borrowing Packet) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: packet.base, count: packet.count))
    }

    @Test("RTP is protected byte for byte as the RFCs say, over two rollovers", arguments: SRTPProfile.allCases)
    func rtpPackets(profile: SRTPProfile) throws {
        var session = try Self.session(profile)
        let reference = try SRTPReference(profile: profile, master: Self.master(profile))
        // Each shape, then steps of a third of the sequence space: rollover counter 0, 1 and 2.
        let indices = Array(UInt64(1)...UInt64(Self.shapes.count)) + stride(from: 20_000, to: 180_000, by: 21_845)
        #expect(indices.last.map { $0 >> 16 } == 2)
        for (position, index) in indices.enumerated() {
            let shape = Self.shapes[position % Self.shapes.count]
            let plain = Self.rtp(
                index, sources: shape.sources, extensionWords: shape.extensionWords, payload: shape.payload)
            var packet = try packet(plain)
            #expect(session.protectRTP(&packet) == .ok)
            let expected = try reference.protectRTP(plain, index: index)
            #expect(contents(packet) == expected, "index \(index), shape \(shape)")
        }
    }

    @Test("RTCP is protected byte for byte as the RFCs say, from index 1", arguments: SRTPProfile.allCases)
    func rtcpPackets(profile: SRTPProfile) throws {
        var session = try Self.session(profile)
        let reference = try SRTPReference(profile: profile, master: Self.master(profile))
        for index in UInt32(1)...300 {
            var plain = SRTPSessionTests.rtcp(ssrc: Self.ssrc)
            plain += (0..<(4 * Int(index % 20))).map { UInt8($0) &+ UInt8(truncatingIfNeeded: index) }
            var packet = try packet(plain)
            #expect(session.protectRTCP(&packet) == .ok)
            let expected = try reference.protectRTCP(plain, index: index)
            #expect(contents(packet) == expected, "index \(index)")
        }
    }

    @Test("What the reference protects is unprotected", arguments: SRTPProfile.allCases)
    func receives(profile: SRTPProfile) throws {
        var session = try Self.session(profile)
        session.addRemoteSSRC(Self.ssrc)
        let reference = try SRTPReference(profile: profile, master: Self.master(profile))
        for (index, shape) in zip(UInt64(65_530)..., Self.shapes) {
            let plain = Self.rtp(
                index, sources: shape.sources, extensionWords: shape.extensionWords, payload: shape.payload)
            var packet = try packet(reference.protectRTP(plain, index: index))
            #expect(session.unprotectRTP(&packet) == .ok, "index \(index), shape \(shape)")
            #expect(contents(packet) == plain, "index \(index), shape \(shape)")
        }
        for index in [UInt32(1), 2, 500, 0x7FFF_FFFE] {
            let plain = SRTPSessionTests.rtcp(ssrc: Self.ssrc) + Array(repeating: 7, count: 20)
            var packet = try packet(reference.protectRTCP(plain, index: index))
            #expect(session.unprotectRTCP(&packet) == .ok, "index \(index)")
            #expect(contents(packet) == plain, "index \(index)")
        }
    }
}
