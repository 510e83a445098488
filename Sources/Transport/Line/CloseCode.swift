/// A WebSocket close code (RFC 6455 §7.4), with the call line's own.
package struct CloseCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 1000: the conversation is over, `transport.bye` said why.
    package static let normal = CloseCode(rawValue: 1_000)
    /// 1001: the server is going away; `transport.bye` said so.
    package static let goingAway = CloseCode(rawValue: 1_001)
    /// 1002: a frame that RFC 6455 does not allow.
    package static let protocolError = CloseCode(rawValue: 1_002)
    /// 1005: never on the wire; the close frame had no code.
    package static let noStatus = CloseCode(rawValue: 1_005)
    /// 1006: never on the wire; the line went away without a close frame.
    package static let abnormal = CloseCode(rawValue: 1_006)
    /// 1007: text that is not UTF-8.
    package static let invalidPayload = CloseCode(rawValue: 1_007)
    /// 1009: a message beyond what is even skipped.
    package static let messageTooBig = CloseCode(rawValue: 1_009)
    /// 4400: bad message, or a message out of order.
    package static let badMessage = CloseCode(rawValue: 4_400)
    /// 4401: the key was refused after the upgrade.
    package static let invalidKey = CloseCode(rawValue: 4_401)
    /// 4404: no such call.
    package static let notFound = CloseCode(rawValue: 4_404)
    /// 4408: no hello within 5 s.
    package static let helloTimeout = CloseCode(rawValue: 4_408)
    /// 4409: the call id is live on another line, or ended less than 60 s ago.
    package static let callExists = CloseCode(rawValue: 4_409)
    /// 4410: a newer line of the same call took over.
    package static let superseded = CloseCode(rawValue: 4_410)
    /// 4429: too many calls.
    package static let rateLimited = CloseCode(rawValue: 4_429)
    /// 4503: the server is draining.
    package static let unavailable = CloseCode(rawValue: 4_503)

    /// Whether a close frame may carry this code: the registered ones, and 3000…4999 (RFC 6455 §7.4.2).
    package var isAllowedOnWire: Bool {
        switch rawValue {
        case 1_000...1_003, 1_007...1_014, 3_000...4_999: true
        default: false
        }
    }
}

/// The words of `transport.error`'s `code`, each with the close code that follows it.
package enum LineErrorCode: String, Hashable, Sendable, CaseIterable {
    case badMessage = "bad_message"
    case badOrder = "bad_order"
    case badVersion = "bad_version"
    case noCommonCodec = "no_common_codec"
    case invalidKey = "invalid_key"
    case notFound = "not_found"
    case helloTimeout = "hello_timeout"
    case callExists = "call_exists"
    case superseded
    case rateLimited = "rate_limited"
    case unavailable
    /// A text beyond 256 KiB: the one after which the call lives.
    case messageTooLarge = "message_too_large"

    /// The code the line is closed with afterwards; nil when it stays open.
    package var closeCode: CloseCode? {
        switch self {
        case .badMessage, .badOrder, .badVersion, .noCommonCodec: .badMessage
        case .invalidKey: .invalidKey
        case .notFound: .notFound
        case .helloTimeout: .helloTimeout
        case .callExists: .callExists
        case .superseded: .superseded
        case .rateLimited: .rateLimited
        case .unavailable: .unavailable
        case .messageTooLarge: nil
        }
    }
}
