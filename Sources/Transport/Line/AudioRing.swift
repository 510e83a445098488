#if MUTANTS
import ICELite
#endif

/// The audio packets that wait for the line: a fixed few, the oldest dropped for the newest. Allocates once.
struct AudioRing: ~Copyable {
    private let slab: UnsafeMutableRawPointer
    private let lengths: UnsafeMutablePointer<Int>
    private let slots: Int
    private var first = 0
    /// Packets that wait.
    private(set) var count = 0

    /// A ring of `slots` packets of at most `LineLimits.maximumBinaryBytes`.
    init(slots: Int) {
        precondition(slots > 0, "a ring needs a slot")
        self.slots = slots
        slab = .allocate(byteCount: slots * LineLimits.maximumBinaryBytes, alignment: 16)
        lengths = .allocate(capacity: slots)
        lengths.initialize(repeating: 0, count: slots)
    }

    deinit {
        slab.deallocate()
        lengths.deallocate()
    }

    /// Adds a packet; true when the oldest had to go for it.
    mutating func append(_ packet: borrowing RawSpan) -> Bool {
        precondition(packet.byteCount <= LineLimits.maximumBinaryBytes, "a packet longer than a binary message")
        let isFull = count == slots
        #if MUTANTS
        if Mutant.current == .ringDropsTheNewest, isFull { return true }
        #endif
        if isFull { removeFirst() }
        let slot = (first + count) % slots
        packet.withUnsafeBytes { source in
            guard let start = source.baseAddress else { return }
            (slab + slot * LineLimits.maximumBinaryBytes).copyMemory(from: start, byteCount: source.count)
        }
        lengths[slot] = packet.byteCount
        count += 1
        return isFull
    }

    /// The oldest packet; empty when there is none.
    var oldest: RawSpan {
        @_lifetime(borrow self)
        get {
            let start = UnsafeRawPointer(slab + first * LineLimits.maximumBinaryBytes)
            return unsafe _overrideLifetime(
                RawSpan(_unsafeStart: start, byteCount: count == 0 ? 0 : lengths[first]), borrowing: self)
        }
    }

    /// Appends the oldest packet to `queue` as a binary frame.
    func encodeOldest(into queue: inout ByteQueue, maskingKey: UInt32?) {
        let packet = oldest
        FrameHeader(opcode: .binary, maskingKey: maskingKey, payloadCount: packet.byteCount).encode(into: &queue)
        let start = queue.count
        queue.append(packet)
        if let maskingKey { queue.mask(start..<queue.count, key: maskingKey) }
    }

    /// Removes the oldest packet, if there is one.
    mutating func removeFirst() {
        guard count > 0 else { return }
        first = (first + 1) % slots
        count -= 1
    }

    /// Puts back the packet that was removed last; nothing was added since.
    mutating func restoreFirst() {
        precondition(count < slots, "a full ring has nothing to get back")
        first = (first + slots - 1) % slots
        count += 1
    }

    /// Empties the ring; returns how many packets were in it.
    mutating func removeAll() -> Int {
        defer { count = 0 }
        return count
    }
}
