internal import FoundationEssentials

/// The client's side of the upgrade: the request, and what the response means (RFC 6455 §4.1).
package struct UpgradeClient: Hashable, Sendable {
    /// What the bytes so far are.
    package enum Parsed: Hashable, Sendable {
        case needMore
        case accepted(byteCount: Int)
        case refused(LineRefusal)
    }

    /// Bytes of a refusal's body that are waited for.
    package static let bodyLimit = 16_384

    private let url: CallLineURL
    private let key: String?
    private let origin: String?
    private let webSocketKey: String

    /// - Parameters:
    ///   - key: the bearer key; the caller has checked that it may travel on this line.
    ///   - nonce: 16 random bytes.
    package init(url: CallLineURL, key: String?, origin: String?, nonce: [UInt8]) {
        self.url = url
        self.key = key
        self.origin = origin
        webSocketKey = Base64.encode(nonce)
    }

    /// The request's bytes.
    package func request() -> [UInt8] {
        var head = "GET \(url.path) HTTP/1.1\r\nHost: \(url.hostHeader)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Key: \(webSocketKey)\r\nSec-WebSocket-Version: 13\r\n"
        head += "Sec-WebSocket-Protocol: \(UpgradeRequest.subprotocol)\r\n"
        if let key { head += "Authorization: Bearer \(key)\r\n" }
        if let origin { head += "Origin: \(origin)\r\n" }
        return Array((head + "\r\n").utf8)
    }

    /// Reads the response at the front of `bytes`.
    package func parse(_ bytes: borrowing RawSpan) -> Parsed {
        let parsed: (head: HTTPHead, byteCount: Int)?
        do throws(HTTPHead.ParseError) {
            parsed = try HTTPHead.parse(bytes)
        } catch {
            return refused(nil, "the server's answer is not HTTP/1.1")
        }
        guard let (head, byteCount) = parsed else { return .needMore }
        let words = head.startLine.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]),
            (100...599).contains(status)
        else { return refused(nil, "the server's answer is not HTTP/1.1") }
        guard status == 101 else { return refusal(status, head, bytes, byteCount) }
        guard head.has("upgrade", "websocket"), head.has("connection", "upgrade") else {
            return refused(status, "the server's 101 does not upgrade to WebSocket")
        }
        guard head.single("sec-websocket-accept") == UpgradeRequest.accept(for: webSocketKey) else {
            return refused(status, "the server's Sec-WebSocket-Accept is wrong")
        }
        guard head.single("sec-websocket-protocol") == UpgradeRequest.subprotocol else {
            return refused(status, "the server does not speak \(UpgradeRequest.subprotocol)")
        }
        guard head.list("sec-websocket-extensions").isEmpty else {
            return refused(status, "the server chose an extension that was not offered")
        }
        return .accepted(byteCount: byteCount)
    }

    // MARK: - Private

    private func refused(_ status: Int?, _ message: String) -> Parsed {
        .refused(LineRefusal(code: .refused, status: status, message: message))
    }

    private struct Body: Decodable {
        var message: String?
        var retryAfterSeconds: Int?
    }

    private func refusal(_ status: Int, _ head: HTTPHead, _ bytes: borrowing RawSpan, _ byteCount: Int) -> Parsed {
        if (300...399).contains(status) {
            return refused(status, "the server redirects, and a call line follows no redirect")
        }
        var body = Body()
        if let length = head.single("content-length").flatMap({ Int($0) }), (1...Self.bodyLimit).contains(length),
            head.single("content-type")?.lowercased().hasPrefix("application/json") == true
        {
            guard bytes.byteCount >= byteCount + length else { return .needMore }
            let text = bytes.extracting(byteCount..<(byteCount + length)).withUnsafeBytes { Data($0) }
            body = (try? JSONDecoder().decode(Body.self, from: text)) ?? body
        }
        let wait = head.single("retry-after").flatMap { Int($0) } ?? body.retryAfterSeconds
        return .refused(
            LineRefusal(
                status: status, message: body.message.map { String($0.prefix(LineRefusal.maximumMessageLength)) },
                retryAfterSeconds: wait.map { min(max(0, $0), LineRefusal.maximumRetryAfterSeconds) }))
    }
}
