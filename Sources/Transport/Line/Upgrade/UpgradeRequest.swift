internal import COpenSSL

/// A client's request to turn the connection into a WebSocket (RFC 6455 §4.2.1), as the server reads it.
package struct UpgradeRequest: Hashable, Sendable {
    /// What the bytes so far are.
    package enum Parsed: Hashable, Sendable {
        case needMore
        case request(UpgradeRequest, byteCount: Int)
        /// Not an upgrade that is spoken here: answer with this and close.
        case bad(LineRefusal)
    }

    /// The subprotocol of the call line.
    package static let subprotocol = "graine.call.v1"
    /// What a browser, which cannot set a header, puts its key behind.
    package static let keyPrefix = "graine.key."
    /// Characters a key has at most.
    package static let keyLimit = 4_096

    /// The request's target. Means nothing to this layer.
    package var path: String
    /// The caller's key; nil when it gave none. Never logged.
    package var key: String?
    /// The key came as a subprotocol: a refusal is a close code, for a browser hides the status.
    package var keyFromSubprotocol: Bool
    package var origin: String?
    /// `Sec-WebSocket-Key`.
    package var webSocketKey: String

    /// Reads the request at the front of `bytes`.
    package static func parse(_ bytes: borrowing RawSpan) -> Parsed {
        let parsed: (head: HTTPHead, byteCount: Int)?
        do throws(HTTPHead.ParseError) {
            parsed = try HTTPHead.parse(bytes)
        } catch {
            switch error {
            case .tooLarge: return bad(431, "the request's head is too large")
            case .malformed(let what): return bad(400, "the request is malformed: \(what)")
            }
        }
        guard let (head, byteCount) = parsed else { return .needMore }
        return read(head, byteCount)
    }

    private static func bad(_ status: Int, _ message: String) -> Parsed {
        .bad(LineRefusal(status: status, message: message))
    }

    private static func read(_ head: HTTPHead, _ byteCount: Int) -> Parsed {
        let words = head.startLine.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2] == "HTTP/1.1", words[1].utf8.first == UInt8(ascii: "/"),
            words[1].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            return bad(400, "the request line is not HTTP/1.1")
        }
        guard words[0] == "GET" else { return bad(405, "only GET opens a call line") }
        guard head.single("host") != nil else { return bad(400, "the request has no Host, or several") }
        guard head.has("upgrade", "websocket"), head.has("connection", "upgrade") else {
            return bad(426, "this address speaks WebSocket only")
        }
        guard head.single("sec-websocket-version") == "13" else {
            return bad(426, "WebSocket version 13 is spoken here")
        }
        guard let webSocketKey = head.single("sec-websocket-key"), Base64.decode(webSocketKey)?.count == 16 else {
            return bad(400, "Sec-WebSocket-Key is not 16 bytes of base64")
        }
        // A body would be read as frames.
        guard head.count("transfer-encoding") == 0, head.count("content-length") <= 1,
            head.single("content-length") ?? "0" == "0"
        else { return bad(400, "an upgrade has no body") }
        // Of two, one would be checked and the other obeyed.
        guard head.count("authorization") <= 1, head.count("origin") <= 1 else {
            return bad(400, "Authorization or Origin is there more than once")
        }
        let offered = head.list("sec-websocket-protocol")
        guard offered.contains(subprotocol) else { return bad(400, "the subprotocol \(subprotocol) is not offered") }
        var request = UpgradeRequest(
            path: String(words[1]), keyFromSubprotocol: false, origin: head.single("origin"), webSocketKey: webSocketKey
        )
        if let authorization = head.single("authorization") {
            let parts = authorization.split(separator: " ")
            if parts.count == 2, parts[0].lowercased() == "bearer" { request.key = String(parts[1]) }
        } else if let protocolKey = offered.first(where: { $0.hasPrefix(keyPrefix) }) {
            request.keyFromSubprotocol = true
            if let bytes = Base64.decodeURL(protocolKey.dropFirst(keyPrefix.count)), !bytes.isEmpty {
                request.key = String(validating: bytes, as: UTF8.self)
            }
        }
        guard request.key?.utf8.count ?? 0 <= keyLimit else { return bad(400, "the key is too long") }
        return .request(request, byteCount: byteCount)
    }

    /// The response that opens the WebSocket.
    package func accepted() -> [UInt8] {
        Array(
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: \(Self.accept(for: webSocketKey))\r\n"
                + "Sec-WebSocket-Protocol: \(Self.subprotocol)\r\n\r\n").utf8)
    }

    /// The response that refuses, with its reason as JSON; the connection closes behind it.
    package static func refusal(_ refusal: LineRefusal) -> [UInt8] {
        let status = refusal.httpStatus
        var body = #"{"code":"\#(refusal.code.rawValue)","message":\#(quoted(refusal.message))"#
        if let seconds = refusal.retryAfterSeconds { body += #","retryAfterSeconds":\#(seconds)"# }
        body += "}"
        var head = "HTTP/1.1 \(status) \(phrase(status))\r\nConnection: close\r\nContent-Type: application/json\r\n"
        head += "Content-Length: \(body.utf8.count)\r\n"
        if let seconds = refusal.retryAfterSeconds { head += "Retry-After: \(seconds)\r\n" }
        if status == 426 { head += "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" }
        return Array((head + "\r\n" + body).utf8)
    }

    /// `Sec-WebSocket-Accept` for a `Sec-WebSocket-Key` (RFC 6455 §4.2.2).
    package static func accept(for key: String) -> String {
        let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        SHA1(text, text.count, &digest)
        return Base64.encode(digest)
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case _ where scalar.value < 0x20: quoted += " "
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 503: "Service Unavailable"
        default: "Refused"
        }
    }
}
