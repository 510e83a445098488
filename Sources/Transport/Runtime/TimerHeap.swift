import ICELite

/// Timers ordered by deadline, equals in the order they were armed. Arming, disarming and firing cost O(log n).
///
/// A timer keeps its slot, and so its handler, until it is removed; a removed slot is used again under a new generation,
/// so that an old id is harmless. Confined to the loop.
struct TimerHeap {
    private struct Entry {
        var deadline: Instant
        var order: UInt64
        var slot: Int32
    }

    private struct Slot {
        var generation: UInt32 = 0
        /// Where the timer is in the heap; -1 while it is not armed.
        var position: Int32 = -1
        var repeats = false
        var handler: (() -> Void)?
    }

    private var heap: [Entry] = []
    private var slots: [Slot] = []
    private var free: [Int32] = []
    private var nextOrder: UInt64 = 0

    /// Timers there are, armed or not.
    private(set) var count = 0

    /// The earliest deadline; `.never` when none is armed.
    var earliest: Instant { heap.first?.deadline ?? .never }

    /// The order the next timer to be armed will get: `popDue(before:)` compares with it.
    var horizon: UInt64 { nextOrder }

    /// A new timer that is not armed. `repeats` keeps it after it has fired.
    mutating func add(repeats: Bool, handler: @escaping () -> Void) -> TimerID {
        let slot: Int32
        if let used = free.popLast() {
            slot = used
        } else {
            slot = Int32(slots.count)
            slots.append(Slot())
        }
        slots[Int(slot)].repeats = repeats
        slots[Int(slot)].handler = handler
        count += 1
        return TimerID(slot: slot, generation: slots[Int(slot)].generation)
    }

    /// Arms a timer, or moves it; `.never` disarms. False when the id is gone.
    @discardableResult
    mutating func arm(_ id: TimerID, at deadline: Instant) -> Bool {
        guard isLive(id) else { return false }
        unlink(id.slot)
        guard deadline != .never else { return true }
        let position = heap.count
        heap.append(Entry(deadline: deadline, order: nextOrder, slot: id.slot))
        nextOrder &+= 1
        slots[Int(id.slot)].position = Int32(position)
        siftUp(position)
        return true
    }

    /// Removes a timer and its handler. Harmless when it is gone.
    mutating func remove(_ id: TimerID) {
        guard isLive(id) else { return }
        unlink(id.slot)
        release(id.slot)
    }

    /// Takes the earliest timer that is due at `now` and was armed before `horizon`; nil when there is none.
    mutating func popDue(now: Instant, before horizon: UInt64) -> (() -> Void)? {
        guard let first = heap.first, first.deadline <= now, first.order < horizon else { return nil }
        let handler = slots[Int(first.slot)].handler
        unlink(first.slot)
        if !slots[Int(first.slot)].repeats { release(first.slot) }
        return handler
    }

    private func isLive(_ id: TimerID) -> Bool {
        slots.indices.contains(Int(id.slot)) && slots[Int(id.slot)].generation == id.generation
            && slots[Int(id.slot)].handler != nil
    }

    private mutating func release(_ slot: Int32) {
        slots[Int(slot)].handler = nil
        slots[Int(slot)].generation &+= 1
        free.append(slot)
        count -= 1
    }

    private mutating func unlink(_ slot: Int32) {
        let position = Int(slots[Int(slot)].position)
        guard position >= 0 else { return }
        slots[Int(slot)].position = -1
        let last = heap.removeLast()
        guard position < heap.count else { return }
        heap[position] = last
        slots[Int(last.slot)].position = Int32(position)
        siftUp(position)
        siftDown(Int(slots[Int(last.slot)].position))
    }

    private func isEarlier(_ left: Int, _ right: Int) -> Bool {
        let (left, right) = (heap[left], heap[right])
        return left.deadline == right.deadline ? left.order < right.order : left.deadline < right.deadline
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        heap.swapAt(left, right)
        slots[Int(heap[left].slot)].position = Int32(left)
        slots[Int(heap[right].slot)].position = Int32(right)
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0, isEarlier(child, (child - 1) / 2) {
            swap(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in (2 * parent + 1)...(2 * parent + 2) where child < heap.count && isEarlier(child, least) {
                least = child
            }
            if least == parent { return }
            swap(parent, least)
            parent = least
        }
    }
}

/// Names a timer of an `EventLoop`. An id whose timer is gone is harmless.
package struct TimerID: Hashable, Sendable {
    let slot: Int32
    let generation: UInt32
}
