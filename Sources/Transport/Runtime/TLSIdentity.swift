import COpenSSL
import Glibc
import ICELite

/// A certificate, its chain and its private key.
///
/// `@unchecked Sendable`: never changed after `init`; OpenSSL's objects are read by any thread.
package final class TLSIdentity: @unchecked Sendable {
    /// Names that one certificate carries at most.
    package static let hostLimit = 64

    private var raw: graine_identity

    /// Loads a PEM chain, the server's own certificate first, and the PEM key that belongs to it, not encrypted.
    package init(certificateChainFile: String, keyFile: String) throws(TLSError) {
        raw = graine_identity()
        guard graine_identity_load(&raw, certificateChainFile, keyFile) == 1 else {
            let reason = TLSError.takeReason()
            throw .unusableIdentity(reason: reason.isEmpty ? "not a certificate and its key" : reason)
        }
    }

    /// Makes a P-256 key and a certificate for `hosts` that it signs itself, and that can serve as its own authority file.
    ///
    /// - Parameters:
    ///   - hosts: DNS names and literal addresses, 1…`hostLimit`.
    ///   - validity: seconds from now at which it begins and ends to be valid.
    package static func selfSigned(
        for hosts: [String], validity: ClosedRange<Int> = -86_400...(365 * 86_400)
    ) throws(TLSError) -> TLSIdentity {
        guard (1...hostLimit).contains(hosts.count) else {
            throw .unusableIdentity(reason: "a certificate needs 1…\(hostLimit) hosts")
        }
        var names: [String] = []
        for host in hosts {
            if let address = Resolver.literal(host) {
                // A certificate has no zone.
                let plain = IPAddress(v6High: address.high, low: address.low)
                names.append("IP:\(address.family == .v4 ? address : plain)")
            } else if isDNSName(host) {
                names.append("DNS:\(host)")
            } else {
                throw .unusableIdentity(reason: "“\(host)” is not a host name")
            }
        }
        var raw = graine_identity()
        // X.520 gives a common name 64 characters; the alternative names are what counts.
        let common = String(hosts[0].prefix(64))
        let made = graine_identity_generate(
            &raw, common, names.joined(separator: ","), validity.lowerBound, validity.upperBound)
        guard made == 1 else { throw .unusableIdentity(reason: TLSError.takeReason()) }
        return TLSIdentity(raw: raw)
    }

    private init(raw: graine_identity) { self.raw = raw }

    deinit { graine_identity_free(&raw) }

    /// The certificate and its chain as PEM text: what a client's authority file holds when it is self-signed.
    package var certificatePEM: String {
        var count = 0
        return Self.text(graine_identity_certificate_pem(&raw, &count), count)
    }

    /// The private key as PKCS #8 PEM text, not encrypted. Never log it.
    package var privateKeyPEM: String {
        var count = 0
        return Self.text(graine_identity_key_pem(&raw, &count), count)
    }

    /// A server context with this certificate. Nil when OpenSSL refuses the pair.
    func makeContext() -> OpaquePointer? { graine_tls_server_context(raw.certificate, raw.key, raw.chain) }

    private static func text(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> String {
        guard let bytes else { return "" }
        defer { free(bytes) }
        return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    private static func isDNSName(_ host: String) -> Bool {
        (1...253).contains(host.utf8.count)
            && host.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "*"):
                    true
                default: false
                }
            }
    }
}
