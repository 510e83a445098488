/// Why a scenario's text cannot be read.
package enum ScenarioError: Error, Equatable, Sendable {
    /// The line of that number, from 1, is none that is known.
    case badLine(Int, String)
    /// Longer than a scenario can be.
    case tooLong
}

extension ScenarioError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .badLine(let number, let what): "line \(number): \(what)"
        case .tooLong: "a scenario has \(Scenario.lineLimit) lines at most"
        }
    }
}
