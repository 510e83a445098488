import ICELite
import Testing
import Transport

/// What tests of a recovery are written with: times in milliseconds, packets every 20 ms, deadlines kept.
protocol RecoveryScript {}

extension RecoveryScript {
    typealias Effect = PathRecovery.Effect

    func at(_ milliseconds: Int64) -> Instant { Instant.zero + .milliseconds(milliseconds) }

    /// A recovery that has heard a packet every 20 ms until `milliseconds`.
    func calm(
        until milliseconds: Int64 = 2_000, isController: Bool = true, peer: Nanoseconds? = .milliseconds(100)
    ) -> PathRecovery {
        var recovery = PathRecovery(
            isController: isController, peerInterval: peer, window: .seconds(10), now: .zero)
        hear(&recovery, from: 0, to: milliseconds)
        return recovery
    }

    func hear(_ recovery: inout PathRecovery, from: Int64, to: Int64) {
        for time in stride(from: from, through: to, by: 20) {
            run(&recovery, to: time - 1)
            recovery.heard(now: at(time))
            recovery.audioHeard(now: at(time))
        }
    }

    /// Lets time pass up to `milliseconds`, each deadline at its instant.
    func run(_ recovery: inout PathRecovery, to milliseconds: Int64) {
        while recovery.nextDeadline <= at(milliseconds) {
            let deadline = recovery.nextDeadline
            recovery.handleTimeout(now: deadline)
            #expect(recovery.nextDeadline > deadline, "the deadline must lie ahead")
            guard recovery.nextDeadline > deadline else { return }
        }
    }

    func effects(_ recovery: inout PathRecovery) -> [Effect] {
        var effects: [Effect] = []
        while let effect = recovery.pollEffect() { effects.append(effect) }
        return effects
    }
}
