import COpenSSL
import Testing

@testable import TransportMedia

/// A key and certificate of a foreign peer: any kind, any dates, with or without an issuer.
final class RawIdentity: @unchecked Sendable {
    enum Key: Hashable, Sendable {
        case p256
        case rsa(Int32)
    }

    /// When the certificate begins and ends to be valid, in seconds from now.
    struct Validity: Hashable, Sendable {
        var from = -3_600
        var to = 86_400
        static let expired = Validity(from: -86_400, to: -3_600)
        static let future = Validity(from: 3_600, to: 86_400)
    }

    let key: OpaquePointer
    let certificate: OpaquePointer
    /// The certificate that signed `certificate`, sent along with it; nil when it is self-signed.
    let issuer: RawIdentity?

    /// - Parameter issuer: who signs; itself if nil.
    init(_ kind: Key = .p256, validity: Validity = Validity(), issuer: RawIdentity? = nil) throws {
        key = try Self.makeKey(kind)
        certificate = try #require(X509_new())
        self.issuer = issuer
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), UInt64.random(in: 1...(1 << 62)))
        X509_gmtime_adj(X509_getm_notBefore(certificate), validity.from)
        X509_gmtime_adj(X509_getm_notAfter(certificate), validity.to)
        let name = X509_get_subject_name(certificate)
        // 0x1001: MBSTRING_ASC.
        X509_NAME_add_entry_by_txt(name, "CN", 0x1001, issuer == nil ? "root" : "leaf", -1, -1, 0)
        X509_set_issuer_name(certificate, issuer.map { X509_get_subject_name($0.certificate) } ?? name)
        X509_set_pubkey(certificate, key)
        try #require(X509_sign(certificate, issuer?.key ?? key, EVP_sha256()) > 0)
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    func fingerprint(by hash: CertificateFingerprint.Hash = .sha256) throws -> CertificateFingerprint {
        let method =
            switch hash {
            case .sha256: EVP_sha256()
            case .sha384: EVP_sha384()
            case .sha512: EVP_sha512()
            }
        var digest = [UInt8](repeating: 0, count: 64)
        var length: UInt32 = 0
        try #require(X509_digest(certificate, method, &digest, &length) == 1)
        return try CertificateFingerprint(hash: hash, bytes: Array(digest.prefix(Int(length))))
    }

    private static func makeKey(_ kind: Key) throws -> OpaquePointer {
        let type =
            switch kind {
            case .p256: EVP_PKEY_EC
            case .rsa: EVP_PKEY_RSA
            }
        let context = try #require(EVP_PKEY_CTX_new_id(type, nil))
        defer { EVP_PKEY_CTX_free(context) }
        try #require(EVP_PKEY_keygen_init(context) == 1)
        switch kind {
        case .p256: try #require(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1)
        case .rsa(let bits): try #require(EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) == 1)
        }
        var key: OpaquePointer?
        try #require(EVP_PKEY_keygen(context, &key) == 1)
        return try #require(key)
    }

    /// Made once: an RSA key takes a second.
    static let p256 = Result { try RawIdentity() }
    static let rsa2048 = Result { try RawIdentity(.rsa(2_048)) }
    static let rsa4096 = Result { try RawIdentity(.rsa(4_096)) }
}
