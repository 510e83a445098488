/// Why a text is no message of the call line. Answered with 4400 `bad_message`.
package enum ControlMessageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not UTF-8 JSON, or no object, or nested deeper than a parser goes.
    case notAnObject
    /// The object has no string `type`.
    case noType
    /// A field is absent that must be there. Its path, as `audio.ssrc`.
    case missing(String)
    /// A field is of the wrong shape, out of range or too long. Its path.
    case invalid(String)

    package var description: String {
        switch self {
        case .notAnObject: "not a JSON object"
        case .noType: "no type"
        case .missing(let field): "\(field) is missing"
        case .invalid(let field): "\(field) is not valid"
        }
    }
}
