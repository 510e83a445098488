internal import ICELite

/// A packet in a jitter buffer.
struct PacketSlot {
    var timestamp: Int64
    var sequence: Int64
    var sampleCount: Int
    var byteCount: Int
    var arrival: Instant
    var marker: Bool
    /// It is the first of another stream: the decoder starts anew.
    var beginsStream: Bool
    var buffer: Int
}

/// A fixed number of packets in order of their timestamps. Allocates when made and with the first packet, never after:
/// most of it is the packets' bytes, which a connection that never becomes a call does without.
struct PacketSlots: ~Copyable {
    /// Packets it holds at most.
    static let capacity = 200
    private static let bufferByteCount = AudioFormat.maximumPacketByteCount

    private let slots: UnsafeMutablePointer<PacketSlot>
    private let free: UnsafeMutablePointer<Int>
    private var slab: UnsafeMutableRawPointer?
    /// Packets held.
    private(set) var count = 0

    init() {
        slots = .allocate(capacity: Self.capacity)
        free = .allocate(capacity: Self.capacity)
        for index in 0..<Self.capacity { (free + index).initialize(to: index) }
    }

    deinit {
        slots.deallocate()
        free.deallocate()
        slab?.deallocate()
    }

    var isFull: Bool { count == Self.capacity }

    /// Packet `index` in order of time.
    subscript(_ index: Int) -> PacketSlot {
        precondition(index < count, "no such packet")
        return slots[index]
    }

    /// The earliest packet; nil when none is held.
    var first: PacketSlot? { count > 0 ? slots[0] : nil }
    /// The latest packet; nil when none is held.
    var last: PacketSlot? { count > 0 ? slots[count - 1] : nil }

    /// Whether a packet of exactly `timestamp` is held.
    func contains(timestamp: Int64) -> Bool {
        var index = count - 1
        while index >= 0, slots[index].timestamp > timestamp { index -= 1 }
        #if MUTANTS
        if Mutant.current == .duplicateByCarriage { return false }
        #endif
        return index >= 0 && slots[index].timestamp == timestamp
    }

    /// Puts a packet where its timestamp belongs; there must be room, and `bytes` must not be longer than a buffer.
    mutating func insert(_ packet: PacketSlot, bytes: borrowing RawSpan) {
        precondition(!isFull && bytes.byteCount <= Self.bufferByteCount, "no room for the packet")
        var packet = packet
        packet.buffer = free[Self.capacity - count - 1]
        packet.byteCount = bytes.byteCount
        bytes.withUnsafeBytes { source in
            if let start = source.baseAddress {
                buffer(packet.buffer).copyMemory(from: start, byteCount: source.count)
            }
        }
        var index = count
        while index > 0, slots[index - 1].timestamp > packet.timestamp {
            (slots + index).initialize(to: slots[index - 1])
            index -= 1
        }
        (slots + index).initialize(to: packet)
        count += 1
    }

    /// Calls `body` with the bytes of the earliest packet, then lets the packet go.
    mutating func takeFirst<R, E: Error>(_ body: (borrowing RawSpan) throws(E) -> R) throws(E) -> R {
        precondition(count > 0, "no packet is held")
        let packet = slots[0]
        defer { removeFirst() }
        return try body(
            RawSpan(
                _unsafeStart: UnsafeRawPointer(buffer(packet.buffer)), byteCount: packet.byteCount))
    }

    private mutating func buffer(_ index: Int) -> UnsafeMutableRawPointer {
        let slab = slab ?? .allocate(byteCount: Self.capacity * Self.bufferByteCount, alignment: 16)
        self.slab = slab
        return slab + index * Self.bufferByteCount
    }

    /// Lets the earliest packet go.
    mutating func removeFirst() {
        precondition(count > 0, "no packet is held")
        free[Self.capacity - count] = slots[0].buffer
        slots.update(from: slots + 1, count: count - 1)
        count -= 1
    }
}
