import COpenSSL

/// What TLS connections of one kind share: trusted authorities of a client, certificate and key of a server. TLS 1.2 and
/// 1.3, ALPN `http/1.1`; no early data, no tickets, no renegotiation. Make it once and use it for many connections.
///
/// `@unchecked Sendable`: never changed after `init`; OpenSSL counts its references with atomics.
package final class TLSContext: @unchecked Sendable {
    /// Whom a client believes.
    package enum Trust: Hashable, Sendable {
        /// The authorities of the system.
        case system
        /// Only those in this PEM file.
        case file(String)
        /// Only those in this PEM text.
        case pem(String)
        /// Anybody: the connection is encrypted, but to whom is unknown. For tests and when asked for by name.
        case insecure
    }

    let raw: OpaquePointer
    /// A server's context: its connections wait for the client to begin.
    package let isServer: Bool

    /// A client's context.
    ///
    /// - Throws: `.unusableIdentity` when the authorities cannot be read.
    package init(trust: Trust) throws(TLSError) {
        isServer = false
        let made: OpaquePointer? =
            switch trust {
            case .system, .pem: graine_tls_client_context(nil, 1)
            case .file(let path): graine_tls_client_context(path, 1)
            case .insecure: graine_tls_client_context(nil, 0)
            }
        guard let made else { throw .unusableIdentity(reason: TLSError.takeReason()) }
        raw = made
        if case .pem(let text) = trust {
            SSL_CTX_set_cert_store(made, X509_STORE_new())
            guard graine_tls_add_trust(made, text, text.utf8.count) > 0 else {
                throw .unusableIdentity(reason: "no certificate in the authority text")
            }
        }
    }

    /// A server's context.
    package init(identity: TLSIdentity) throws(TLSError) {
        isServer = true
        guard let made = identity.makeContext() else { throw .unusableIdentity(reason: TLSError.takeReason()) }
        raw = made
    }

    deinit { SSL_CTX_free(raw) }
}
