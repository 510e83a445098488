import COpenSSL
import ICELite

@testable import TransportMedia

/// SRTP and SRTCP written down once more, straight from the RFCs and on OpenSSL's ciphers alone: what packets of
/// `SRTPSession` are compared with. RFC 3711 for AES-CM with HMAC-SHA1, RFC 7714 for AES-GCM.
struct SRTPReference {
    /// RFC 3711 §4.3.2.
    enum Label: UInt8 {
        case rtpEncryption = 0
        case rtpAuthentication = 1
        case rtpSalt = 2
        case rtcpEncryption = 3
        case rtcpAuthentication = 4
        case rtcpSalt = 5
    }

    struct SessionKeys {
        var encryption: [UInt8]
        var authentication: [UInt8] = []
        var salt: [UInt8]
    }

    let profile: SRTPProfile
    let rtp: SessionKeys
    let rtcp: SessionKeys

    /// Takes session keys as they are, as RFC 7714's vectors give them.
    init(profile: SRTPProfile, rtp: SessionKeys, rtcp: SessionKeys) {
        self.profile = profile
        self.rtp = rtp
        self.rtcp = rtcp
    }

    /// Derives the session keys of both kinds from master key and salt, one behind the other.
    init(profile: SRTPProfile, master: [UInt8]) throws {
        let key = Array(master[..<profile.keyLength])
        let salt = Array(master[profile.keyLength...])
        func keys(_ encryption: Label, _ authentication: Label, _ salting: Label) throws -> SessionKeys {
            try SessionKeys(
                encryption: Self.derive(encryption, key: key, salt: salt, count: profile.keyLength),
                authentication: Self.derive(authentication, key: key, salt: salt, count: 20),
                salt: Self.derive(salting, key: key, salt: salt, count: profile.saltLength))
        }
        self.profile = profile
        rtp = try keys(.rtpEncryption, .rtpAuthentication, .rtpSalt)
        rtcp = try keys(.rtcpEncryption, .rtcpAuthentication, .rtcpSalt)
    }

    /// RFC 3711 §4.3.1 and §4.3.3, derivation rate 0. RFC 7714 §11: a 96-bit salt is filled up with zeros on the right.
    static func derive(_ label: Label, key: [UInt8], salt: [UInt8], count: Int) throws -> [UInt8] {
        var block = salt + Array(repeating: 0, count: 16 - salt.count)
        block[7] ^= label.rawValue
        return try counterMode(key: key, counter: block, Array(repeating: 0, count: count))
    }

    // MARK: - Packets

    /// The protected form of an RTP packet whose 48-bit index is `index`.
    func protectRTP(_ packet: [UInt8], index: UInt64) throws -> [UInt8] {
        let header = Array(packet[..<Self.headerLength(packet)])
        let payload = Array(packet[header.count...])
        let ssrc = Self.word(packet, 8)
        switch profile {
        case .aeadAES128GCM:
            return try header
                + Self.seal(
                    key: rtp.encryption, iv: Self.rtpNonce(salt: rtp.salt, ssrc: ssrc, index: index), aad: header,
                    payload)
        case .aes128CMHMACSHA1_80:
            let counter = Self.counter(salt: rtp.salt, ssrc: ssrc, index: index)
            let hidden = try header + Self.counterMode(key: rtp.encryption, counter: counter, payload)
            let rollover = Self.bigEndian(index >> 16, count: 4)
            return try hidden + Self.hmacSHA1(key: rtp.authentication, hidden + rollover).prefix(10)
        }
    }

    /// The protected form of an RTCP packet whose 31-bit index is `index`, encrypted.
    func protectRTCP(_ packet: [UInt8], index: UInt32) throws -> [UInt8] {
        let header = Array(packet[..<8])
        let body = Array(packet[8...])
        let ssrc = Self.word(packet, 4)
        let trailer = Self.bigEndian(UInt64(index | 1 << 31), count: 4)
        switch profile {
        case .aeadAES128GCM:
            let iv = Self.rtcpNonce(salt: rtcp.salt, ssrc: ssrc, index: index)
            return try header + Self.seal(key: rtcp.encryption, iv: iv, aad: header + trailer, body) + trailer
        case .aes128CMHMACSHA1_80:
            let counter = Self.counter(salt: rtcp.salt, ssrc: ssrc, index: UInt64(index))
            let hidden = try header + Self.counterMode(key: rtcp.encryption, counter: counter, body) + trailer
            return try hidden + Self.hmacSHA1(key: rtcp.authentication, hidden).prefix(10)
        }
    }

    // MARK: - What goes into the ciphers

    /// RFC 3711 §4.1.1: salt, SSRC and index, each shifted to its place.
    static func counter(salt: [UInt8], ssrc: UInt32, index: UInt64) -> [UInt8] {
        combine(
            salt + [0, 0], [0, 0, 0, 0] + bigEndian(UInt64(ssrc), count: 4) + bigEndian(index, count: 6) + [0, 0])
    }

    /// RFC 7714 §8.1.
    static func rtpNonce(salt: [UInt8], ssrc: UInt32, index: UInt64) -> [UInt8] {
        combine(salt, [0, 0] + bigEndian(UInt64(ssrc), count: 4) + bigEndian(index, count: 6))
    }

    /// RFC 7714 §9.1.
    static func rtcpNonce(salt: [UInt8], ssrc: UInt32, index: UInt32) -> [UInt8] {
        combine(salt, [0, 0] + bigEndian(UInt64(ssrc), count: 4) + [0, 0] + bigEndian(UInt64(index), count: 4))
    }

    private static func combine(_ one: [UInt8], _ two: [UInt8]) -> [UInt8] { zip(one, two).map { $0 ^ $1 } }

    private static func bigEndian(_ value: UInt64, count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - $0))) }
    }

    private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Fixed header, CSRCs and extension. RFC 3550 §5.1, §5.3.1.
    private static func headerLength(_ packet: [UInt8]) -> Int {
        let length = 12 + 4 * Int(packet[0] & 0x0F)
        guard packet[0] & 0x10 != 0 else { return length }
        return length + 4 + 4 * (Int(packet[length + 2]) << 8 | Int(packet[length + 3]))
    }
}

// MARK: - OpenSSL

extension SRTPReference {
    struct OpenSSLFailure: Error {}

    /// AES-128 in counter mode.
    static func counterMode(key: [UInt8], counter: [UInt8], _ bytes: [UInt8]) throws -> [UInt8] {
        try withContext { context in
            var out = [UInt8](repeating: 0, count: bytes.count)
            var count: Int32 = 0
            guard EVP_EncryptInit_ex(context, EVP_aes_128_ctr(), nil, key, counter) == 1,
                EVP_EncryptUpdate(context, &out, &count, bytes, Int32(bytes.count)) == 1, Int(count) == bytes.count
            else { throw OpenSSLFailure() }
            return out
        }
    }

    /// AES-128 or AES-256 in Galois/counter mode, by the length of the key: ciphertext and behind it a tag of 16 bytes.
    static func seal(key: [UInt8], iv: [UInt8], aad: [UInt8], _ bytes: [UInt8]) throws -> [UInt8] {
        try withContext { context in
            var out = [UInt8](repeating: 0, count: bytes.count + 16)
            var tag = [UInt8](repeating: 0, count: 16)
            var count: Int32 = 0
            guard
                EVP_EncryptInit_ex(context, key.count == 32 ? EVP_aes_256_gcm() : EVP_aes_128_gcm(), nil, key, iv) == 1,
                EVP_EncryptUpdate(context, nil, &count, aad, Int32(aad.count)) == 1,
                EVP_EncryptUpdate(context, &out, &count, bytes, Int32(bytes.count)) == 1, Int(count) == bytes.count
            else { throw OpenSSLFailure() }
            var rest = [UInt8](repeating: 0, count: 16)
            guard EVP_EncryptFinal_ex(context, &rest, &count) == 1, count == 0,
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1
            else { throw OpenSSLFailure() }
            return out.prefix(bytes.count) + tag
        }
    }

    static func hmacSHA1(key: [UInt8], _ bytes: [UInt8]) throws -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 20)
        var count: UInt32 = 0
        guard HMAC(EVP_sha1(), key, Int32(key.count), bytes, bytes.count, &out, &count) != nil, count == 20 else {
            throw OpenSSLFailure()
        }
        return out
    }

    private static func withContext<R>(_ body: (OpaquePointer) throws -> R) throws -> R {
        guard let context = EVP_CIPHER_CTX_new() else { throw OpenSSLFailure() }
        defer { EVP_CIPHER_CTX_free(context) }
        return try body(context)
    }
}
