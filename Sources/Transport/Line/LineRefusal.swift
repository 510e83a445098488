/// Why a call line was refused, in one word. The raw value is the word on the wire and in the SDK's errors.
public enum RefusalCode: String, Hashable, Sendable, CaseIterable {
    /// 401 or 4401: the key is missing, unknown or revoked.
    case invalidKey = "invalid_key"
    /// 403: the origin is not allowed.
    case originRefused = "origin_refused"
    /// 404 or 4404: there is no such agent or call.
    case notFound = "not_found"
    /// 429 or 4429: too many calls; see `retryAfterSeconds`.
    case rateLimited = "rate_limited"
    /// 503 or 4503: the server takes no calls now.
    case unavailable
    /// DNS, TCP, TLS or a proxy (407) failed: the server was not reached.
    case network
    /// Every other refusal, a redirect and an answer that is no WebSocket's among them.
    case refused
}

/// A call line that was not opened, or was closed with a code that means the same.
public struct LineRefusal: Error, Hashable, Sendable {
    /// Why, in one word.
    public var code: RefusalCode
    /// The HTTP status, or the WebSocket close code; nil when no server answered.
    public var status: Int?
    /// One sentence for logs. Never holds a key.
    public var message: String
    /// Seconds to wait before the next try (0…86,400), when the server said so.
    public var retryAfterSeconds: Int?

    /// Makes a refusal.
    public init(code: RefusalCode, status: Int? = nil, message: String, retryAfterSeconds: Int? = nil) {
        self.code = code
        self.status = status
        self.message = message
        self.retryAfterSeconds = retryAfterSeconds
    }
}

extension LineRefusal {
    /// Longest wait that is believed, in seconds: a day.
    package static let maximumRetryAfterSeconds = 86_400
    /// Longest message that is kept of a server's, in characters.
    package static let maximumMessageLength = 200

    /// The refusal an HTTP `status` stands for, with the words of the specification.
    package init(status: Int, message: String? = nil, retryAfterSeconds: Int? = nil) {
        self.init(
            code: Self.code(forStatus: status), status: status,
            message: message ?? "The conversation was refused (\(status)).", retryAfterSeconds: retryAfterSeconds)
    }

    /// The refusal a close code stands for; nil when the code is no refusal (1000, 1006, 4400, 4408 …).
    package init?(closeCode: UInt16, message: String? = nil, retryAfterSeconds: Int? = nil) {
        let code: RefusalCode
        switch CloseCode(rawValue: closeCode) {
        case .invalidKey: code = .invalidKey
        case .notFound: code = .notFound
        case .rateLimited: code = .rateLimited
        case .unavailable: code = .unavailable
        default: return nil
        }
        self.init(
            code: code, status: Int(closeCode), message: message ?? "The conversation was refused (\(closeCode)).",
            retryAfterSeconds: retryAfterSeconds)
    }

    /// The HTTP status that says `code`.
    package var httpStatus: Int {
        if let status, (400...599).contains(status) { return status }
        switch code {
        case .invalidKey: return 401
        case .originRefused: return 403
        case .notFound: return 404
        case .rateLimited: return 429
        case .unavailable: return 503
        case .network: return 502
        case .refused: return 400
        }
    }

    private static func code(forStatus status: Int) -> RefusalCode {
        switch status {
        case 401: .invalidKey
        case 403: .originRefused
        case 404: .notFound
        case 407: .network
        case 429: .rateLimited
        case 503: .unavailable
        default: .refused
        }
    }
}
