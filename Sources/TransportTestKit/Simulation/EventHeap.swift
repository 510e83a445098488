package import ICELite

/// Names one scheduled event, for as long as it has not run.
public struct EventToken: Hashable, Sendable {
    let slot: Int32
    let order: UInt64
}

/// A binary heap of events ordered by (time, priority, insertion).
///
/// The heap's own entries are small trivial values; the payloads lie still in slots beside it, so that sifting moves no
/// reference count. Cancelling empties the slot and leaves the entry, which is skipped when it comes up.
/// Meant for use inside this module: it is not `@inlinable`, and ten times slower from another one.
package struct EventHeap<Payload> {
    private struct Entry {
        var time: Int64
        var priority: UInt64
        var order: UInt64
        var slot: Int32

        func precedes(_ other: Entry) -> Bool {
            if time != other.time { return time < other.time }
            if priority != other.priority { return priority < other.priority }
            return order < other.order
        }
    }

    private struct Slot {
        var order: UInt64
        var payload: Payload?
    }

    private var entries: [Entry] = []
    private var slots: [Slot] = []
    private var freeSlots: [Int32] = []
    private var nextOrder: UInt64 = 0
    /// Events that are scheduled and not cancelled.
    package private(set) var count = 0

    package init() {}

    /// Whether no event waits.
    package var isEmpty: Bool { count == 0 }

    /// Adds an event. `priority` orders events of the same time, insertion those of the same priority.
    ///
    /// O(log n).
    @discardableResult
    package mutating func push(_ payload: Payload, at time: Instant, priority: UInt64 = 0) -> EventToken {
        let order = nextOrder
        nextOrder += 1
        let slot: Int32
        if let free = freeSlots.popLast() {
            slot = free
            slots[Int(slot)] = Slot(order: order, payload: payload)
        } else {
            slot = Int32(slots.count)
            slots.append(Slot(order: order, payload: payload))
        }
        entries.append(Entry(time: time.nanoseconds, priority: priority, order: order, slot: slot))
        siftUp(entries.count - 1)
        count += 1
        return EventToken(slot: slot, order: order)
    }

    /// Takes the event back. Returns false when it has run or was cancelled before. O(1).
    @discardableResult
    package mutating func cancel(_ token: EventToken) -> Bool {
        let index = Int(token.slot)
        guard index < slots.count, slots[index].order == token.order, slots[index].payload != nil else { return false }
        slots[index].payload = nil
        count -= 1
        return true
    }

    /// When the next event is due; `.never` when none waits.
    package var nextTime: Instant {
        mutating get {
            while let first = entries.first {
                if slots[Int(first.slot)].payload != nil { return Instant(nanoseconds: first.time) }
                removeFirst()
            }
            return .never
        }
    }

    /// Takes out the next event that is due at `limit` or before; nil when there is none. O(log n).
    package mutating func pop(notAfter limit: Instant) -> (time: Instant, order: UInt64, payload: Payload)? {
        while let first = entries.first {
            let slot = Int(first.slot)
            if slots[slot].payload != nil {
                guard first.time <= limit.nanoseconds else { return nil }
                guard let payload = slots[slot].payload.take() else { return nil }
                removeFirst()
                count -= 1
                return (Instant(nanoseconds: first.time), first.order, payload)
            }
            removeFirst()
        }
        return nil
    }

    private mutating func removeFirst() {
        freeSlots.append(entries[0].slot)
        let last = entries.removeLast()
        guard !entries.isEmpty else { return }
        entries[0] = last
        siftDown()
    }

    private mutating func siftUp(_ start: Int) {
        entries.withUnsafeMutableBufferPointer { entries in
            var child = start
            let entry = entries[child]
            while child > 0 {
                let parent = (child - 1) / 2
                guard entry.precedes(entries[parent]) else { break }
                entries[child] = entries[parent]
                child = parent
            }
            entries[child] = entry
        }
    }

    private mutating func siftDown() {
        entries.withUnsafeMutableBufferPointer { entries in
            var parent = 0
            let entry = entries[parent]
            while true {
                var child = 2 * parent + 1
                guard child < entries.count else { break }
                if child + 1 < entries.count, entries[child + 1].precedes(entries[child]) { child += 1 }
                guard entries[child].precedes(entry) else { break }
                entries[parent] = entries[child]
                parent = child
            }
            entries[parent] = entry
        }
    }
}
