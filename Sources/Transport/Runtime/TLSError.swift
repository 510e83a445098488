import COpenSSL

/// Why a TLS connection did not come about, or broke.
package enum TLSError: Error, Equatable, Sendable {
    /// The server's certificate has expired.
    case certificateExpired
    /// The server's certificate is not valid yet: often the clock of this machine is wrong.
    case certificateNotYetValid
    /// The server's certificate is for other names than `host`.
    case hostMismatch(host: String, certificateNames: String)
    /// Nobody that this machine trusts has signed the certificate; `isSelfSigned` when it signed itself.
    case unknownAuthority(isSelfSigned: Bool)
    /// OpenSSL refused the certificate for another reason.
    case certificateRejected(reason: String)
    /// The handshake or a record failed: an alert of the peer's, no common version, or no TLS at all.
    case protocolFailure(reason: String)
    /// ALPN agreed on something other than `http/1.1`.
    case wrongApplicationProtocol
    /// The connection ended without `close_notify`.
    case truncated
    /// Our own certificate, key or authority file cannot be used.
    case unusableIdentity(reason: String)

    /// The error for a failed verification: an `X509_V_ERR_` code.
    init(verification code: Int, host: String, names: String) {
        switch Int32(truncatingIfNeeded: code) {
        case X509_V_ERR_CERT_HAS_EXPIRED: self = .certificateExpired
        case X509_V_ERR_CERT_NOT_YET_VALID: self = .certificateNotYetValid
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            self = .hostMismatch(host: host, certificateNames: names)
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: self = .unknownAuthority(isSelfSigned: true)
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            self = .unknownAuthority(isSelfSigned: false)
        default:
            self = .certificateRejected(reason: String(cString: graine_tls_verify_text(code)))
        }
    }

    /// Takes the reason out of OpenSSL's error queue, which it clears.
    static func takeReason() -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            graine_take_error(start, buffer.count)
            return String(cString: start)
        }
    }
}

extension TLSError: CustomStringConvertible {
    /// A sentence without its full stop.
    package var description: String {
        switch self {
        case .certificateExpired: "the server's certificate has expired"
        case .certificateNotYetValid: "the server's certificate is not valid yet; is this machine's clock right?"
        case .hostMismatch(let host, let names):
            names.isEmpty
                ? "the server's certificate is not for \(host)"
                : "the server's certificate is for \(names), not for \(host)"
        case .unknownAuthority(true): "the server's certificate is self-signed and not trusted here"
        case .unknownAuthority(false): "the server's certificate was signed by an authority that is not trusted here"
        case .certificateRejected(let reason): "the server's certificate was refused: \(reason)"
        case .protocolFailure(let reason): reason.isEmpty ? "TLS failed" : "TLS failed: \(reason)"
        case .wrongApplicationProtocol: "the server does not speak HTTP/1.1 over TLS"
        case .truncated: "the connection ended without a goodbye"
        case .unusableIdentity(let reason): "the certificate or key cannot be used: \(reason)"
        }
    }
}
