import ICELite

@testable import Transport

/// A path's watch that is told what a bad network would tell it, at random but from a seed.
struct RandomPath {
    var recovery: PathRecovery
    /// Told the same, and not recorded.
    var bare: PathRecovery
    private(set) var effects: [PathRecovery.Effect] = []
    private(set) var bareEffects: [PathRecovery.Effect] = []
    private var randomness: Randomness
    private(set) var now = Instant.zero + .seconds(1_000)
    /// Nothing comes on the path.
    private var isDead = false
    private var isLineAsked = false
    /// Times that it wanted to be called again at once.
    private(set) var spins = 0

    init(seed: UInt64, recorder: FlightRecorder, window: Nanoseconds = .seconds(10)) {
        randomness = .seeded(seed)
        let interval: Nanoseconds? = seed % 5 == 0 ? nil : .milliseconds(100)
        bare = PathRecovery(isController: seed % 3 != 0, peerInterval: interval, window: window, now: now)
        recovery = bare
        recovery.record(on: recorder, now: now)
    }

    private mutating func chance(_ oneIn: UInt64) -> Bool { randomness.next() % oneIn == 0 }

    private mutating func tell(_ input: PathRecovery.Input) {
        recovery.take(input, now: now)
        bare.take(input, now: now)
        while let effect = recovery.pollEffect() {
            if effect == .askLine { isLineAsked = true }
            effects.append(effect)
        }
        while let effect = bare.pollEffect() { bareEffects.append(effect) }
    }

    /// Goes on for `seconds`: a packet each 20 ms with jitter, a tick of the loop each 10 ms and at every deadline.
    mutating func run(seconds: Int64) {
        let end = now + .seconds(seconds)
        var packetAt = now
        var tickAt = now
        while now < end {
            var next = min(packetAt, tickAt)
            if recovery.nextDeadline > now { next = min(next, recovery.nextDeadline) }
            now = next
            if now == packetAt {
                packetAt = now + .milliseconds(20) + Nanoseconds(randomness.next() % 9_000_000) - 4_500_000
                happen()
            }
            if now >= tickAt { tickAt = now + .milliseconds(10) }
            tell(.timeout)
            // What ended may let something be due at once, but not for ever.
            if recovery.nextDeadline <= now { tell(.timeout) }
            if recovery.nextDeadline <= now { spins += 1 }
        }
    }

    private mutating func happen() {
        if chance(isDead ? 120 : 700) { isDead.toggle() }
        if !isDead { tell(.heard) }
        if isDead, recovery.hasOutage, chance(60) { tell(.answered(isSamePair: chance(2))) }
        if isLineAsked {
            isLineAsked = false
            tell(.lineAnswered)
        }
        if chance(50) { tell(.reported(standstills: isDead && chance(2) ? 3 : 0)) }
        if chance(isDead ? 40 : 400) { tell(.peerBridge(isDead)) }
        if chance(3_000) { tell(.suspect(chance(2) ? .hint : .networkChange)) }
        if chance(4_000) { tell(.stalled(for: .seconds(2))) }
        if recovery.hasOutage, chance(500) { tell(.moved) }
        if recovery.hasOutage, chance(900) { tell(.restarted) }
        if recovery.isBridgeAsked, chance(60) { tell(.behind) }
    }
}
