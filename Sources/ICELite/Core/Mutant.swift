#if MUTANTS
/// Faults that are built in on purpose to show that the simulation finds them; in no product. One at a time is on.
package enum Mutant: String, CaseIterable, Sendable {
    /// The server obeys a select whose epoch is not above the last.
    case epochUnchecked
    /// A packet that came by the other carriage is no duplicate.
    case duplicateByCarriage
    /// Audio on the path after the WebSocket was selected selects the path.
    case lateSuccessFlipsTheChoice
    /// A hang-up leaves the budget's timer armed.
    case budgetTimerOutlivesTheHangUp
    /// `recovery_failed` is set where another reason stands.
    case recoveryFailedOverAnEarlierReason
    /// One refused pair is enough for `udp_blocked`.
    case udpBlockedOnOnePair
    case bridgeNeverOff
    /// The server does not start when it is asked for the bridge.
    case bridgeNotStarted
    /// A path is suspected only when its consent has run out.
    case suspicionByConsent
    /// A full ring drops what is new.
    case ringDropsTheNewest
    /// After a jump of the clock one pull at a time is made up for.
    case deadlineInThePastAfterAJump
    /// Media from an address without a check moves the path there.
    case mediaMovesThePath
    /// Timestamps are compared as numbers without a sign.
    case timestampUnsigned
    /// Any number of packets is parked.
    case parkedUnbounded
    /// The server's call stays when its line was refused.
    case sessionKeptAfterRefusal
    /// Each suspicion begins the recovery's window anew.
    case windowRestarted
    /// The server keeps in mind that the path was closed when it obeys the select of the WebSocket.
    case pathClosedOutlivesTheChange
    /// The peer's end of its bridge ends ours, too.
    case bridgeOffEndsBoth
    /// The highest NOMINATION of the credentials before counts for a restart's, too.
    case nominationOutlivesTheRestart
    /// The 3 s of a suspect line are counted from its last byte, not from the suspicion.
    case suspectLineDiesAtOnce
    /// Nothing wakes a line for the close frame that is not answered.
    case closeNeverTimesOut

    /// The one that is on; set before the first call, by one thread.
    nonisolated(unsafe) package static var current: Mutant?
}
#endif
