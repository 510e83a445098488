import COpenSSL
import ICELite

/// One TLS connection without a socket: ciphertext is fed in and pulled out, plaintext written and read.
///
/// After each `feed`, `write`, `advanceHandshake`, `read` and `close` there may be ciphertext to pull. Not thread-safe.
package struct TLSEngine: ~Copyable {
    /// What a read or a write came to.
    package enum Progress: Hashable, Sendable {
        /// This many bytes of plaintext, 1 and up.
        case bytes(Int)
        /// Ciphertext of the peer's is needed first.
        case needsInput
        /// The peer has said `close_notify`: no more will come.
        case closed
    }

    /// Plaintext that one TLS record holds at most (RFC 8446 §5.1).
    package static let recordLimit = 16_384

    private let raw: OpaquePointer
    private let host: String
    private let isServer: Bool
    /// The handshake is complete: plaintext may be written.
    package private(set) var isEstablished = false

    /// A connection that has not begun: `advanceHandshake` makes a client's first flight.
    ///
    /// - Parameter host: a DNS name (sent as SNI) or a literal address that the certificate must be for; ignored for a server.
    package init(context: TLSContext, host: String = "") throws(TLSError) {
        isServer = context.isServer
        let literal = Resolver.literal(host)
        // No certificate names a zone.
        let name =
            literal.map { $0.zone == 0 ? "\($0)" : "\(IPAddress(v6High: $0.high, low: $0.low))" }
            ?? (host.hasSuffix(".") ? String(host.dropLast()) : host)
        self.host = name
        guard isServer || !name.isEmpty, !name.utf8.contains(0) else {
            throw .protocolFailure(reason: "a client must know its server's name")
        }
        let made =
            isServer
            ? graine_tls_make(context.raw, nil, 0)
            : graine_tls_make(context.raw, name, literal == nil ? 0 : 1)
        guard let made else { throw .protocolFailure(reason: TLSError.takeReason()) }
        raw = made
    }

    deinit { graine_tls_free(raw) }

    /// TLS version and whether ALPN agreed on `http/1.1`, once established: "TLSv1.3".
    package var version: String { String(cString: graine_tls_version(raw)) }

    /// ALPN agreed on `http/1.1`; false when the peer does not do ALPN.
    package var hasNegotiatedHTTP: Bool { graine_tls_alpn(raw) == 1 }

    /// Takes ciphertext from the peer, all of it.
    package mutating func feed(_ ciphertext: borrowing RawSpan) {
        ciphertext.withUnsafeBytes { bytes in
            if bytes.count > 0 { _ = graine_tls_feed(raw, bytes.baseAddress, bytes.count) }
        }
    }

    /// Goes on with the handshake as far as it can: true once it is complete.
    ///
    /// - Throws: what ended it. The alert to the peer still waits to be pulled.
    package mutating func advanceHandshake() throws(TLSError) -> Bool {
        if isEstablished { return true }
        switch graine_tls_handshake(raw) {
        case 1:
            guard graine_tls_alpn(raw) >= 0 else { throw .wrongApplicationProtocol }
            isEstablished = true
            return true
        case GRAINE_TLS_WANT: return false
        case GRAINE_TLS_CLOSED: throw .truncated
        default: throw failure()
        }
    }

    /// Encrypts at most one record of `plaintext`.
    package mutating func write(_ plaintext: borrowing RawSpan) throws(TLSError) -> Progress {
        guard !plaintext.isEmpty else { return .needsInput }
        let result = plaintext.withUnsafeBytes { bytes in
            graine_tls_write(raw, bytes.baseAddress, min(bytes.count, Self.recordLimit))
        }
        return try progress(result)
    }

    /// Decrypts into `buffer`, which must not be empty.
    package mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(TLSError) -> Progress {
        try progress(graine_tls_read(raw, buffer.baseAddress, buffer.count))
    }

    /// Bytes of ciphertext that wait to be pulled.
    package var pendingCount: Int {
        var start: UnsafePointer<UInt8>?
        return graine_tls_pending(raw, &start)
    }

    /// Shows the ciphertext that waits to `body`, which says how many bytes of it have been dealt with.
    package mutating func withPending(_ body: (UnsafeRawBufferPointer) -> Int) {
        var start: UnsafePointer<UInt8>?
        let count = graine_tls_pending(raw, &start)
        guard count > 0 else { return }
        let taken = body(UnsafeRawBufferPointer(start: start, count: count))
        graine_tls_discard(raw, min(max(0, taken), count))
    }

    /// Moves ciphertext that waits into `out`, as much as there is room for; the number of bytes.
    package mutating func pull(into out: inout OutputRawSpan) -> Int {
        var moved = 0
        withPending { bytes in
            moved = min(bytes.count, out.freeCapacity)
            for index in 0..<moved { out.append(bytes[index], as: UInt8.self) }
            return moved
        }
        return moved
    }

    /// Says `close_notify` once the handshake is complete.
    package mutating func close() { graine_tls_close(raw) }

    private func progress(_ result: Int) throws(TLSError) -> Progress {
        switch Int32(truncatingIfNeeded: result) {
        case _ where result > 0: return .bytes(result)
        case GRAINE_TLS_WANT: return .needsInput
        case GRAINE_TLS_CLOSED: return .closed
        default: throw failure()
        }
    }

    private func failure() -> TLSError {
        let code = graine_tls_verify_result(raw)
        if code != 0 {
            let names = String(cString: graine_tls_certificate_names(raw))
            return TLSError(verification: code, host: host, names: names)
        }
        return .protocolFailure(reason: String(cString: graine_tls_error(raw)))
    }
}
