internal import COpenSSL

/// The proof that a server understood the upgrade (RFC 6455 §1.3, §4.2.2).
package enum UpgradeKey {
    /// The subprotocol of version 1.
    package static let subprotocol = "graine.call.v1"
    /// What precedes the key, in base64url, where a client cannot set a header.
    package static let keyPrefix = "graine.key."

    private static let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// The `Sec-WebSocket-Accept` that answers the `Sec-WebSocket-Key` called `key`: base64(SHA-1(key + GUID)).
    package static func accept(for key: String) -> String {
        let input = Array((key + guid).utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        var count: UInt32 = 0
        let done = EVP_Digest(input, input.count, &digest, &count, EVP_sha1(), nil)
        // Without SHA-1 nothing matches and the upgrade is refused, which is right.
        return done == 1 && count == 20 ? Base64.encode(digest) : ""
    }
}
