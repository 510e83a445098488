/// Which packets of one stream came, by whatever carriages: copies count once, so that what was sent on both and came on one
/// is not lost. Does not allocate once made.
package struct StreamCoverage: Sendable {
    /// Numbers behind the highest one whose coming is remembered; an older one counts as a copy.
    package static let window = 1_024
    /// A jump ahead by more than this is a stream that began anew, not a loss. RFC 3550 §A.1.
    package static let maximumDropout: Int64 = 3_000

    private var tracker = SequenceNumberTracker()
    private var words = InlineArray<16, UInt64>(repeating: 0)
    private var base: Int64 = 0
    private var received: Int64 = 0
    private var lostBefore: Int64 = 0

    package init() {}

    /// Packets that no carriage brought; falls when one comes late.
    package var lost: Int64 { lostBefore + (tracker.highest.map { $0.rawValue - base + 1 } ?? 0) - received }

    /// A packet with this number came.
    package mutating func receive(_ sequence: SequenceNumber) {
        guard let highest = tracker.highest?.rawValue else { return begin(sequence) }
        let number = tracker.extended(sequence).rawValue
        if number > highest {
            guard number - highest <= Self.maximumDropout else { return begin(sequence) }
            for passed in max(highest + 1, number - Int64(Self.window) + 1)...number { set(passed, false) }
            tracker.update(sequence)
        } else if highest - number >= Int64(Self.window) || isSet(number) {
            return
        }
        base = min(base, number)
        set(number, true)
        received += 1
    }

    /// The stream begins anew, or another one does: what was lost before stays lost.
    package mutating func restart() {
        lostBefore = lost
        received = 0
        base = 0
        tracker = SequenceNumberTracker()
    }

    private mutating func begin(_ sequence: SequenceNumber) {
        restart()
        for word in 0..<16 { words[word] = 0 }
        base = tracker.update(sequence).rawValue
        set(base, true)
        received = 1
    }

    private func place(_ number: Int64) -> (word: Int, bit: UInt64) {
        let slot = Int(truncatingIfNeeded: number) & (Self.window - 1)
        return (slot >> 6, 1 << UInt64(slot & 63))
    }

    private func isSet(_ number: Int64) -> Bool {
        let place = place(number)
        return words[place.word] & place.bit != 0
    }

    private mutating func set(_ number: Int64, _ isOn: Bool) {
        let place = place(number)
        if isOn { words[place.word] |= place.bit } else { words[place.word] &= ~place.bit }
    }
}
