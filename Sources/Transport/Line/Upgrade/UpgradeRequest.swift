/// A client's wish to open a call line, as the server reads it. Neither key nor origin has been judged yet.
package struct UpgradeRequest: Hashable, Sendable, CustomStringConvertible {
    /// Path and query of the request line.
    package var path: String
    /// The `Host` field.
    package var host: String
    /// The key that was shown; nil when there is none, or when it is not UTF-8 in base64url.
    package var key: String?
    /// Whether the key came as a subprotocol, as a browser must send it.
    package var keyFromSubprotocol: Bool
    /// The `Origin` field, when there is one.
    package var origin: String?
    /// The `Sec-WebSocket-Key`.
    package var webSocketKey: String

    package init(
        path: String, host: String, key: String? = nil, keyFromSubprotocol: Bool = false, origin: String? = nil,
        webSocketKey: String
    ) {
        self.path = path
        self.host = host
        self.key = key
        self.keyFromSubprotocol = keyFromSubprotocol
        self.origin = origin
        self.webSocketKey = webSocketKey
    }

    /// For logs: without the key, and without the query.
    package var description: String {
        let bare =
            path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init) ?? "/"
        return "\(bare) at \(host), \(key == nil ? "no key" : "a key"), origin \(origin ?? "none")"
    }

    /// Reads a request (RFC 6455 §4.2.1).
    ///
    /// - Throws: the refusal to answer with: 400, or 426 for another version of the protocol.
    package init(parsing head: HTTPHead) throws(LineRefusal) {
        do throws(HTTPError) {
            let words = head.startLine.split(separator: " ", omittingEmptySubsequences: false)
            guard words.count == 3, words[2] == "HTTP/1.1", words[0].utf8.allSatisfy(HTTPHead.isToken) else {
                throw .startLine
            }
            guard words[0] == "GET", words[1].utf8.first == UInt8(ascii: "/"),
                !words[1].utf8.contains(UInt8(ascii: "#"))
            else { throw .startLine }
            path = String(words[1])
            guard let host = try head.single("host") else { throw .repeated("host") }
            self.host = host
            guard let nonce = try head.single("sec-websocket-key"), Base64.decode(nonce)?.count == 16 else {
                throw .repeated("sec-websocket-key")
            }
            webSocketKey = nonce
            origin = try head.single("origin")
            // A body would be read as frames: nothing may announce one.
            guard head.values("transfer-encoding").isEmpty, head.values("content-length").allSatisfy({ $0 == "0" })
            else {
                throw .field
            }
            key = nil
            keyFromSubprotocol = false
            if let authorization = try head.single("authorization") {
                let parts = authorization.split(separator: " ", maxSplits: 1)
                if parts.count == 2, parts[0].lowercased() == "bearer" { key = String(parts[1]) }
            } else if let offered = head.list("sec-websocket-protocol").first(where: {
                $0.hasPrefix(UpgradeKey.keyPrefix)
            }) {
                keyFromSubprotocol = true
                key = Base64.decodeURL(offered.dropFirst(UpgradeKey.keyPrefix.count)).flatMap {
                    String(validating: $0, as: UTF8.self)
                }
            }
        } catch {
            throw LineRefusal(status: 400, message: "The upgrade request is malformed: \(error).")
        }
        guard head.contains("websocket", in: "upgrade"), head.contains("upgrade", in: "connection") else {
            throw LineRefusal(status: 400, message: "The request asks for no WebSocket.")
        }
        guard head.list("sec-websocket-version") == ["13"] else {
            throw LineRefusal(status: 426, message: "The WebSocket version must be 13.")
        }
        guard head.list("sec-websocket-protocol").contains(UpgradeKey.subprotocol) else {
            throw LineRefusal(status: 400, message: "The subprotocol \(UpgradeKey.subprotocol) was not offered.")
        }
    }

    /// The client's request for `url`, or nil when `key` or `origin` cannot stand in a header field.
    ///
    /// The key is left out when `url` may not carry it.
    package static func encode(url: CallLineURL, key: String?, origin: String?, webSocketKey: String) -> [UInt8]? {
        var text =
            "GET \(url.path) HTTP/1.1\r\nHost: \(url.hostHeader)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        text += "Sec-WebSocket-Key: \(webSocketKey)\r\nSec-WebSocket-Version: 13\r\n"
        text += "Sec-WebSocket-Protocol: \(UpgradeKey.subprotocol)\r\n"
        if let key {
            guard !key.isEmpty, HTTPHead.isValue(key) else { return nil }
            if url.mayCarryKey { text += "Authorization: Bearer \(key)\r\n" }
        }
        if let origin {
            guard HTTPHead.isValue(origin) else { return nil }
            text += "Origin: \(origin)\r\n"
        }
        return Array((text + "\r\n").utf8)
    }
}
