import COpenSSL
import Testing

@testable import TransportMedia

/// An OpenSSL object as other stacks use it: memory BIOs, a timer that never fires, no repeats of its own.
final class RawPeer {
    struct Options {
        var role: DTLSRole
        /// The IANA names OpenSSL knows profiles by; nil for a peer without SRTP.
        var profiles: String? = "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80"
        /// 0xFEFD is DTLS 1.2, 0xFEFF is 1.0.
        var version = DTLS1_2_VERSION
        var ciphers: String?
        var signatures: String?
        /// The datagrams' size; nil lets OpenSSL ask the BIO, which does not know.
        var mtu: Int? = 1_200
        /// Bytes of an extension of no meaning in the ClientHello: as long as a post-quantum key share.
        var extensionBytes = 0
        /// Sends a HelloVerifyRequest first.
        var sendsCookie = false
        /// Leaves OpenSSL its own timer, which runs on the system's clock.
        var keepsTimer = false

        init(_ role: DTLSRole) { self.role = role }
    }

    let identity: RawIdentity
    private let ssl: OpaquePointer
    private let context: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    private let padding: UnsafeMutableRawBufferPointer
    /// What the last call into OpenSSL returned.
    private(set) var result: Int32 = 0

    init(_ options: Options, identity: RawIdentity) throws {
        self.identity = identity
        let context = try #require(SSL_CTX_new(DTLS_method()))
        self.context = context
        // SSL_OP_NO_QUERY_MTU, SSL_OP_NO_TICKET, SSL_OP_COOKIE_EXCHANGE, SSL_OP_ALLOW_CLIENT_RENEGOTIATION.
        var flags: UInt64 = 1 << 14 | 1 << 8
        if options.mtu != nil { flags |= 1 << 12 }
        if options.sendsCookie { flags |= 1 << 13 }
        SSL_CTX_set_options(context, flags)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(options.version), nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(options.version), nil)
        if options.version != DTLS1_2_VERSION { SSL_CTX_set_security_level(context, 0) }
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT) { _, _ in 1 }
        SSL_CTX_set_cert_verify_callback(context, { _, _ in 1 }, nil)
        SSL_CTX_set_cookie_generate_cb(context) { _, cookie, length in
            for index in 0..<8 { cookie?[index] = 7 }
            length?.pointee = 8
            return 1
        }
        SSL_CTX_set_cookie_verify_cb(context) { _, cookie, length in
            length == 8 && (0..<8).allSatisfy { cookie?[$0] == 7 } ? 1 : 0
        }
        try #require(SSL_CTX_use_certificate(context, identity.certificate) == 1)
        try #require(SSL_CTX_use_PrivateKey(context, identity.key) == 1)
        if let issuer = identity.issuer {
            X509_up_ref(issuer.certificate)
            SSL_CTX_ctrl(context, SSL_CTRL_EXTRA_CHAIN_CERT, 0, UnsafeMutableRawPointer(issuer.certificate))
        }
        if let ciphers = options.ciphers { try #require(SSL_CTX_set_cipher_list(context, ciphers) == 1) }
        if let signatures = options.signatures {
            let done = signatures.withCString {
                SSL_CTX_ctrl(context, SSL_CTRL_SET_SIGALGS_LIST, 0, UnsafeMutableRawPointer(mutating: $0))
            }
            try #require(done == 1)
        }
        if let profiles = options.profiles { try #require(SSL_CTX_set_tlsext_use_srtp(context, profiles) == 0) }
        // Its length, then its bytes: the callback sees nothing else.
        let padding = UnsafeMutableRawBufferPointer.allocate(byteCount: 8 + options.extensionBytes, alignment: 16)
        self.padding = padding
        padding.initializeMemory(as: UInt8.self, repeating: 0x5A)
        padding.storeBytes(of: options.extensionBytes, as: Int.self)
        if options.extensionBytes > 0 {
            let added = SSL_CTX_add_custom_ext(
                context, 0xFDE8, UInt32(SSL_EXT_CLIENT_HELLO),
                { _, _, _, out, length, _, _, _, argument in
                    out?.pointee = argument.map { UnsafePointer($0.assumingMemoryBound(to: UInt8.self) + 8) }
                    length?.pointee = argument?.load(as: Int.self) ?? 0
                    return 1
                }, nil, padding.baseAddress, nil, nil)
            try #require(added == 1)
        }
        let ssl = try #require(SSL_new(context))
        self.ssl = ssl
        let input = try #require(BIO_new(BIO_s_mem()))
        self.input = input
        let output = try #require(BIO_new(BIO_s_mem()))
        self.output = output
        SSL_set_bio(ssl, input, output)
        if let mtu = options.mtu { SSL_ctrl(ssl, SSL_CTRL_SET_MTU, mtu, nil) }
        if !options.keepsTimer { DTLS_set_timer_cb(ssl) { _, _ in 2_000_000_000 } }
        if options.role == .server { SSL_set_accept_state(ssl) } else { SSL_set_connect_state(ssl) }
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
        padding.deallocate()
    }

    var isEstablished: Bool { SSL_is_init_finished(ssl) == 1 }
    var version: String { String(cString: SSL_get_version(ssl)) }
    var profile: UInt { SSL_get_selected_srtp_profile(ssl)?.pointee.id ?? 0 }
    /// The certificate the other end showed.
    var peerCertificate: OpaquePointer? { SSL_get0_peer_certificate(ssl) }

    func peerFingerprint() throws -> CertificateFingerprint {
        var digest = [UInt8](repeating: 0, count: 32)
        let certificate = peerCertificate
        try #require(certificate != nil && X509_digest(certificate, EVP_sha256(), &digest, nil) == 1)
        return try CertificateFingerprint(hash: .sha256, bytes: digest)
    }

    /// Takes one datagram, or begins; returns the records written.
    @discardableResult func step(_ datagram: [UInt8] = []) -> [[UInt8]] {
        ERR_clear_error()
        if !datagram.isEmpty { BIO_write(input, datagram, Int32(datagram.count)) }
        result = SSL_do_handshake(ssl)
        let records = written()
        ERR_clear_error()
        return records
    }

    /// Reads, as after completion; returns the records written.
    @discardableResult func read(_ datagram: [UInt8] = []) -> [[UInt8]] {
        ERR_clear_error()
        if !datagram.isEmpty { BIO_write(input, datagram, Int32(datagram.count)) }
        var bytes = [UInt8](repeating: 0, count: 2_048)
        result = SSL_read(ssl, &bytes, Int32(bytes.count))
        let records = written()
        ERR_clear_error()
        return records
    }

    /// Handshakes until it is done, reads then.
    @discardableResult func take(_ datagram: [UInt8]) -> [[UInt8]] {
        isEstablished ? read(datagram) : step(datagram)
    }

    /// When OpenSSL wants its timer looked at: microseconds from now, nil while none runs.
    var timeout: Int? {
        // A struct timeval.
        var left = [0, 0]
        guard SSL_ctrl(ssl, DTLS_CTRL_GET_TIMEOUT, 0, &left) == 1 else { return nil }
        return left[0] * 1_000_000 + left[1]
    }

    /// Makes the same object the other role's.
    func flip(to role: DTLSRole) {
        if role == .server { SSL_set_accept_state(ssl) } else { SSL_set_connect_state(ssl) }
    }

    /// Asks the client to begin another handshake: a HelloRequest, under the keys of this one.
    func helloRequest() -> [[UInt8]] {
        SSL_renegotiate(ssl)
        return step()
    }

    /// Writes an application's record.
    func send(_ bytes: [UInt8]) -> [[UInt8]] {
        SSL_write(ssl, bytes, Int32(bytes.count))
        return written()
    }

    func shutdown() -> [[UInt8]] {
        SSL_shutdown(ssl)
        return written()
    }

    /// The exporter as it is, without asking whether it is final: what OpenSSL returns, and the bytes.
    func export(count: Int = 56) -> (result: Int32, bytes: [UInt8]) {
        var material = [UInt8](repeating: 0, count: count)
        let label = "EXTRACTOR-dtls_srtp"
        let result = SSL_export_keying_material(ssl, &material, count, label, label.utf8.count, nil, 0, 0)
        ERR_clear_error()
        return (result, material)
    }

    /// What lies in the outgoing BIO: `SSL_OP_NO_QUERY_MTU` or not, one read of it returns a whole flight.
    private func written() -> [[UInt8]] {
        var bytes: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = BIO_read(output, &room, Int32(room.count))
            guard count > 0 else { break }
            bytes += room.prefix(Int(count))
        }
        return records(of: bytes)
    }
}

/// DTLS records that lie end to end.
func records(of bytes: [UInt8]) -> [[UInt8]] {
    var records: [[UInt8]] = []
    var rest = bytes[...]
    while rest.count >= 13 {
        let start = rest.startIndex
        let length = 13 + (Int(rest[start + 11]) << 8 | Int(rest[start + 12]))
        records.append(Array(rest.prefix(length)))
        rest = rest.dropFirst(length)
    }
    return records
}
