/// The rules that every simulated call must keep, by the numbers of the simulation's specification.
package enum Invariant: Int, Hashable, Sendable, CaseIterable {
    case decidedInTime = 1
    case agreement
    case reason
    case playedOnce
    case heard
    case messages
    case bounded
    case progress
    case delay
    case calm
    case security
    case liveness
    case sameAgain

    /// The rule in a few words.
    package var title: String {
        switch self {
        case .decidedInTime: "decided in time"
        case .agreement: "agreement"
        case .reason: "reason"
        case .playedOnce: "played once, in order, legally"
        case .heard: "heard if it could be"
        case .messages: "messages"
        case .bounded: "bounded"
        case .progress: "progress"
        case .delay: "delay"
        case .calm: "calm stays calm"
        case .security: "security"
        case .liveness: "liveness"
        case .sameAgain: "same again"
        }
    }
}
