internal import FoundationEssentials

/// The answer to an upgrade request, both ways.
package enum UpgradeResponse {
    /// The response that opens the line.
    package static func accept(webSocketKey: String, subprotocol: String = UpgradeKey.subprotocol) -> [UInt8] {
        var text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        text += "Sec-WebSocket-Accept: \(UpgradeKey.accept(for: webSocketKey))\r\n"
        text += "Sec-WebSocket-Protocol: \(subprotocol)\r\n\r\n"
        return Array(text.utf8)
    }

    /// The response that refuses: status, `Retry-After` and the JSON body.
    package static func refuse(_ refusal: LineRefusal) -> [UInt8] {
        let status = refusal.httpStatus
        var object = JSONWriter()
        object.field("code", refusal.code.rawValue)
        object.field("message", refusal.message)
        if let seconds = refusal.retryAfterSeconds { object.field("retryAfterSeconds", seconds) }
        let body = object.finish()
        var text = "HTTP/1.1 \(status) \(reason(status))\r\nContent-Type: application/json\r\n"
        text += "Content-Length: \(body.count)\r\nConnection: close\r\nCache-Control: no-store\r\n"
        if status == 401 { text += "WWW-Authenticate: Bearer\r\n" }
        if status == 426 { text += "Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n" }
        if let seconds = refusal.retryAfterSeconds { text += "Retry-After: \(max(0, seconds))\r\n" }
        return Array((text + "\r\n").utf8) + body
    }

    /// The status of a response's first line; nil when it is not one of HTTP/1.x.
    package static func status(of head: HTTPHead) -> Int? {
        let words = head.startLine.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0] == "HTTP/1.1" || words[0] == "HTTP/1.0", words[1].utf8.count == 3,
            words[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let status = Int(words[1])
        else { return nil }
        return status
    }

    /// Checks a 101 (RFC 6455 §4.1); throws why it opens nothing.
    ///
    /// - Parameter subprotocol: what was offered and must be echoed; nil when none was, and none may be echoed.
    package static func validate(
        _ head: HTTPHead, webSocketKey: String, subprotocol: String? = UpgradeKey.subprotocol
    ) throws(LineRefusal) {
        guard head.startLine.hasPrefix("HTTP/1.1 ") else { throw wrong("its version is not HTTP/1.1") }
        guard head.list("upgrade").map({ $0.lowercased() }) == ["websocket"] else {
            throw wrong("it does not upgrade to websocket")
        }
        guard head.contains("upgrade", in: "connection") else { throw wrong("its Connection field has no upgrade") }
        guard head.values("sec-websocket-accept") == [UpgradeKey.accept(for: webSocketKey)] else {
            throw wrong("Sec-WebSocket-Accept does not match, something between may have answered")
        }
        guard head.list("sec-websocket-extensions").isEmpty else { throw wrong("it uses an extension not offered") }
        guard head.values("sec-websocket-protocol") == (subprotocol.map { [$0] } ?? []) else {
            throw wrong("it does not speak \(subprotocol ?? "without subprotocol")")
        }
    }

    /// How the body of a refusal ends.
    package enum BodyLength: Hashable, Sendable {
        /// After this many bytes (at most `LineLimits.maximumBodyBytes`).
        case bytes(Int)
        /// With the connection.
        case untilEnd
        /// Not worth reading: too long, chunked or not JSON.
        case none
    }

    /// How much body follows `head` that is worth reading.
    package static func bodyLength(of head: HTTPHead) -> BodyLength {
        guard head.values("transfer-encoding").isEmpty, head.values("content-type").contains(where: isJSON) else {
            return .none
        }
        let lengths = head.values("content-length")
        guard let first = lengths.first else { return .untilEnd }
        guard lengths.count == 1, let count = Int(first), (0...LineLimits.maximumBodyBytes).contains(count) else {
            return .none
        }
        return .bytes(count)
    }

    /// The typed refusal of a response that is no 101.
    package static func refusal(status: Int, head: HTTPHead, body: [UInt8]) -> LineRefusal {
        var refusal = LineRefusal(status: status)
        switch status {
        case 200...299:
            refusal.message =
                "The server answered \(status) instead of opening a WebSocket: something between may have answered."
        case 300...399: refusal.message = "The server redirects (\(status)), and redirects are not followed."
        case 407: refusal.message = "A proxy asks for a login (407)."
        default: break
        }
        // The status speaks where it has a word of its own; the body may add one only to the others.
        if !body.isEmpty, let told = try? JSONDecoder().decode(Told.self, from: Data(body)) {
            if refusal.code == .refused, let word = told.code.flatMap(RefusalCode.init(rawValue:)), status >= 400 {
                refusal.code = word
            }
            if status >= 400, status != 407, let message = told.message, !message.isEmpty {
                refusal.message = String(
                    message.unicodeScalars.prefix(LineRefusal.maximumMessageLength).map(Character.init))
            }
            if let seconds = told.retryAfterSeconds, seconds >= 0 {
                refusal.retryAfterSeconds = Int(min(seconds.rounded(.up), Double(LineRefusal.maximumRetryAfterSeconds)))
            }
        }
        if let seconds = retryAfter(of: head) { refusal.retryAfterSeconds = seconds }
        return refusal
    }

    // MARK: Private

    private struct Told: Decodable {
        var code: String?
        var message: String?
        var retryAfterSeconds: Double?
    }

    private static func wrong(_ why: String) -> LineRefusal {
        LineRefusal(code: .refused, status: 101, message: "The server's answer opens no call line: \(why).")
    }

    private static func isJSON(_ value: String) -> Bool {
        value.split(separator: ";").first.map { $0.lowercased().hasPrefix("application/json") } ?? false
    }

    /// `Retry-After` in seconds (RFC 9110 §10.2.3). A date is measured from the response's own `Date`, as no clock is read.
    private static func retryAfter(of head: HTTPHead) -> Int? {
        guard let value = head.values("retry-after").first else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return min(Int(value) ?? .max, LineRefusal.maximumRetryAfterSeconds)
        }
        guard let then = HTTPDate.seconds(value), let now = head.values("date").first.flatMap(HTTPDate.seconds) else {
            return nil
        }
        return min(max(0, then - now), LineRefusal.maximumRetryAfterSeconds)
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        default: "Refused"
        }
    }
}
