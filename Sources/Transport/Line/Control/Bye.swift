/// `transport.bye`: the end of the call, said by one end; the line closes with 1000 after it.
package struct Bye: Codable, Hashable, Sendable {
    /// `client`, `server` or `failure`; others are kept.
    package var by: String
    package var message: String?

    package init(by: String, message: String? = nil) {
        self.by = by
        self.message = message
    }
}

/// `transport.error`: what was wrong with something the receiver sent.
package struct LineError: Codable, Hashable, Sendable {
    package var code: String
    package var message: String?
    package var retryAfterSeconds: Int?

    private enum CodingKeys: String, CodingKey {
        case code, message
        case retryAfterSeconds = "retry_after_s"
    }

    package init(code: String, message: String?, retryAfterSeconds: Int? = nil) {
        self.code = code
        self.message = message
        self.retryAfterSeconds = retryAfterSeconds
    }
}
