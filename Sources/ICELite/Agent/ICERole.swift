/// Which end of an ICE session chooses the pair (RFC 8445 §6.1.1).
public enum ICERole: Hashable, Sendable {
    /// Nominates.
    case controlling
    /// Selects what the peer nominates.
    case controlled

    /// The other one.
    var other: ICERole { self == .controlling ? .controlled : .controlling }
}

/// What an end of an ICE session has to do, by who offered and who is lite (RFC 8445 §6.1.1).
///
/// The roles last as long as the session; a restart keeps them unless an end has turned lite or full (§9).
///
/// For an owner that may offer or answer and be either kind: it says which agent to make and, for `ICEFullAgent`, in which
/// role. No agent asks for it. An offerer that does not know the peer yet says `peerIsLite: false`: the role is the same,
/// and `ICEFullAgent.setRemote` turns to controlling where an answerer learns later that the peer is lite.
public struct ICERoleDecision: Hashable, Sendable {
    /// Our role.
    public let role: ICERole
    /// We send checks: `ICEFullAgent` is the agent. A lite end does not: `ICELiteAgent` answers.
    public let sendsChecks: Bool
    /// Both ends are lite: no check is sent by either, pairs are formed from the candidates alone and the controlling
    /// end takes the one of highest priority in each family (§8.2).
    public let selectsWithoutChecks: Bool

    /// Decides.
    ///
    /// - Parameters:
    ///   - isOfferer: we sent the offer that began the session.
    ///   - isLite: we said `a=ice-lite`.
    ///   - peerIsLite: the peer said it.
    public init(isOfferer: Bool, isLite: Bool, peerIsLite: Bool) {
        if isLite == peerIsLite {
            role = isOfferer ? .controlling : .controlled
        } else {
            // A full end controls a lite one, whoever offered.
            role = peerIsLite ? .controlling : .controlled
        }
        sendsChecks = !isLite
        selectsWithoutChecks = isLite && peerIsLite
    }
}
