import COpenSSL

/// The digest of a certificate as a session description carries it: `sha-256 AA:BB:…` (RFC 8122 §5).
package struct CertificateFingerprint: Hashable, Sendable {
    /// Hash functions that are good enough. RFC 8122 §5 retires MD5 and SHA-1.
    package enum Hash: String, Sendable, Hashable, CaseIterable {
        case sha256 = "sha-256"
        case sha384 = "sha-384"
        case sha512 = "sha-512"

        /// Bytes of the digest.
        package var length: Int {
            switch self {
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }
    }

    /// Why a text is no fingerprint of ours.
    package enum ParseError: Error, Equatable, Sendable {
        /// Not `hash SP hex:hex:…`.
        case malformed
        /// A hash that is too weak (`sha-1`, `md5`) or unknown. Another fingerprint beside it may do.
        case unsupportedHash
        /// The digest is not as long as its hash says.
        case length
    }

    /// The hash function.
    package let hash: Hash
    /// The digest.
    package let bytes: [UInt8]

    /// - Throws: `ParseError.length` when `bytes` is not as long as `hash` says.
    package init(hash: Hash, bytes: [UInt8]) throws(ParseError) {
        guard bytes.count == hash.length else { throw .length }
        self.hash = hash
        self.bytes = bytes
    }

    /// Parses the value of an `a=fingerprint` attribute; hash name and digits in any case.
    package init(parsing text: some StringProtocol) throws(ParseError) {
        let utf8 = Array(text.utf8.prefix(256))
        guard let space = utf8.firstIndex(of: 0x20) else { throw .malformed }
        let name = String(decoding: utf8[..<space], as: UTF8.self).lowercased()
        var rest = utf8[space...]
        while rest.first == 0x20 { rest = rest.dropFirst() }
        while rest.last == 0x20 { rest = rest.dropLast() }
        guard let hash = Hash(rawValue: name) else { throw .unsupportedHash }
        var bytes: [UInt8] = []
        for part in rest.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false) {
            guard part.count == 2, let high = Self.nibble(part[part.startIndex]),
                let low = Self.nibble(part[part.startIndex + 1])
            else { throw .malformed }
            bytes.append(high << 4 | low)
        }
        try self.init(hash: hash, bytes: bytes)
    }

    /// The value of an `a=fingerprint` attribute: hash in lower, digits in upper case.
    package var attribute: String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text = Array(hash.rawValue.utf8)
        for (index, byte) in bytes.enumerated() {
            text.append(index == 0 ? 0x20 : UInt8(ascii: ":"))
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func nibble(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The number the C shim knows the hash by.
    var shimHash: Int32 {
        switch hash {
        case .sha256: Int32(DTLS_HASH_SHA256)
        case .sha384: Int32(DTLS_HASH_SHA384)
        case .sha512: Int32(DTLS_HASH_SHA512)
        }
    }
}
