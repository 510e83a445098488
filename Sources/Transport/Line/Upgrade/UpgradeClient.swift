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
    /// Interim responses (RFC 9110 §15.2) that are read over.
    package static let interimLimit = 4

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
        var head =
            "GET \(url.path) HTTP/1.1\r\nHost: \(url.hostHeader)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Key: \(webSocketKey)\r\nSec-WebSocket-Version: 13\r\n"
        head += "Sec-WebSocket-Protocol: \(UpgradeRequest.subprotocol)\r\n"
        if let key { head += "Authorization: Bearer \(key)\r\n" }
        if let origin { head += "Origin: \(origin)\r\n" }
        return Array((head + "\r\n").utf8)
    }

    /// Whether `value` may stand in a header field as a key or an origin: visible ASCII, nothing that ends a line.
    package static func isFieldValue(_ value: String) -> Bool {
        (1...UpgradeRequest.keyLimit).contains(value.utf8.count)
            && value.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Reads the response at the front of `bytes`.
    ///
    /// - Parameter isWhole: nothing follows: a refusal's body that is cut short is not waited for.
    package func parse(_ bytes: borrowing RawSpan, isWhole: Bool = false) -> Parsed {
        var start = 0
        for _ in 0...Self.interimLimit {
            switch parseOne(bytes.extracting(start..<bytes.byteCount), isWhole: isWhole) {
            case .needMore: return .needMore
            case .refused(let refusal): return .refused(refusal)
            case .accepted(let byteCount): return .accepted(byteCount: start + byteCount)
            case .interim(let byteCount): start += byteCount
            }
        }
        return refused(nil, "the server sends interim answers without end")
    }

    // MARK: - Private

    private enum Response {
        case needMore
        case accepted(byteCount: Int)
        case refused(LineRefusal)
        /// 100 or 103: the answer follows (RFC 9110 §15.2).
        case interim(byteCount: Int)
    }

    private func parseOne(_ bytes: borrowing RawSpan, isWhole: Bool) -> Response {
        let parsed: (head: HTTPHead, byteCount: Int)?
        do throws(HTTPHead.ParseError) {
            parsed = try HTTPHead.parse(bytes)
        } catch {
            return refused(nil, "the server's answer is not HTTP/1.1")
        }
        guard let (head, byteCount) = parsed else { return .needMore }
        let words = head.startLine.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0] == "HTTP/1.1" || words[0] == "HTTP/1.0", words[1].utf8.count == 3,
            words[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let status = Int(words[1]),
            (100...599).contains(status)
        else { return refused(nil, "the server's answer is not HTTP/1.1") }
        if (100...199).contains(status), status != 101 { return .interim(byteCount: byteCount) }
        guard status == 101 else { return refusal(status, head, bytes, byteCount, isWhole: isWhole) }
        guard words[0] == "HTTP/1.1" else { return refused(status, "the server's 101 is not HTTP/1.1") }
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

    private func refused(_ status: Int?, _ message: String) -> Parsed {
        .refused(LineRefusal(code: .refused, status: status, message: message))
    }

    private func refused(_ status: Int?, _ message: String) -> Response {
        .refused(LineRefusal(code: .refused, status: status, message: message))
    }

    /// The server's words as they may stand in a log: one line, bounded.
    private static func logged(_ message: String) -> String {
        var text = String.UnicodeScalarView()
        for scalar in message.unicodeScalars.prefix(LineRefusal.maximumMessageLength) {
            text.append(scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) ? " " : scalar)
        }
        return String(text)
    }

    private struct Body: Decodable {
        var message: String?
        var retryAfterSeconds: Int?
    }

    private func refusal(
        _ status: Int, _ head: HTTPHead, _ bytes: borrowing RawSpan, _ byteCount: Int, isWhole: Bool
    ) -> Response {
        if (300...399).contains(status) {
            return refused(status, "the server redirects, and a call line follows no redirect")
        }
        var body = Body()
        if let length = head.single("content-length").flatMap({ Int($0) }), (1...Self.bodyLimit).contains(length),
            head.single("content-type")?.lowercased().hasPrefix("application/json") == true
        {
            let isThere = bytes.byteCount >= byteCount + length
            guard isThere || isWhole else { return .needMore }
            if isThere {
                let text = bytes.extracting(byteCount..<(byteCount + length)).withUnsafeBytes { Data($0) }
                body = (try? JSONDecoder().decode(Body.self, from: text)) ?? body
            }
        }
        let wait = head.single("retry-after").flatMap { Int($0) } ?? body.retryAfterSeconds
        return .refused(
            LineRefusal(
                status: status, message: body.message.map(Self.logged),
                retryAfterSeconds: wait.map { min(max(0, $0), LineRefusal.maximumRetryAfterSeconds) }))
    }
}
