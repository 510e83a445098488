import COpenSSL

/// A P-256 key with its self-signed certificate: who an end is, for one process or one call (RFC 8827 §6.5).
///
/// `@unchecked Sendable`: the C object is read-only after `init`, and OpenSSL counts references to it atomically.
package final class DTLSCertificate: @unchecked Sendable {
    /// The process's certificate of today, made when it is first asked for. A call asks once and keeps it.
    ///
    /// A process that cannot make one (no memory, no entropy) has nil here and no media path.
    package static var shared: DTLSCertificate? { CertificateSupply.process.current }

    /// SHA-256 of the certificate, for the session description.
    package let fingerprint: CertificateFingerprint
    let identity: OpaquePointer

    /// Makes a fresh key and certificate (0.25 ms).
    ///
    /// - Parameter secondsSince1970: when, for its validity; 0 is now. A simulation's is always the same.
    /// - Throws: `DTLSError.openSSL`.
    package init(secondsSince1970: Int64 = 0) throws(DTLSError) {
        guard let identity = dtls_identity_new(secondsSince1970) else { throw .openSSL }
        self.identity = identity
        guard let fingerprint = Self.fingerprint(of: identity, by: .sha256) else {
            dtls_identity_free(identity)
            throw .openSSL
        }
        self.fingerprint = fingerprint
    }

    deinit { dtls_identity_free(identity) }

    /// The certificate's fingerprint by another hash function; nil when OpenSSL fails.
    package func fingerprint(by hash: CertificateFingerprint.Hash) -> CertificateFingerprint? {
        Self.fingerprint(of: identity, by: hash)
    }

    private static func fingerprint(
        of identity: OpaquePointer, by hash: CertificateFingerprint.Hash
    ) -> CertificateFingerprint? {
        var digest = [UInt8](repeating: 0, count: Int(DTLS_BOX_MAX_DIGEST))
        let number: Int32 =
            switch hash {
            case .sha256: Int32(DTLS_HASH_SHA256)
            case .sha384: Int32(DTLS_HASH_SHA384)
            case .sha512: Int32(DTLS_HASH_SHA512)
            }
        let length = dtls_identity_digest(identity, number, &digest)
        return try? CertificateFingerprint(hash: hash, bytes: Array(digest.prefix(length)))
    }
}
