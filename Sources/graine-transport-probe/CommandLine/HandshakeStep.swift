internal import Transport

/// A step of `HandshakeOptions`, by the name that `--without` has for it.
enum HandshakeStep: String, CaseIterable, Sendable {
    case helloInOffer = "hello-in-offer"
    case flightsOnLine = "flights-on-line"
    case flightBehindCheck = "flight-behind-check"
    case earlyMedia = "early-media"

    private var option: WritableKeyPath<HandshakeOptions, Bool> {
        switch self {
        case .helloInOffer: \.helloInOffer
        case .flightsOnLine: \.flightsOnLine
        case .flightBehindCheck: \.flightBehindCheck
        case .earlyMedia: \.earlyMedia
        }
    }

    /// All options but for `steps`.
    static func options(without steps: Set<Self>) -> HandshakeOptions {
        var options = HandshakeOptions()
        for step in steps { options[keyPath: step.option] = false }
        return options
    }
}
