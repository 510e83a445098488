/// One datagram's buffer, borrowed from a `PacketPool` and given back when it goes out of scope.
///
/// Media is changed where it lies: received, decrypted, parsed, or encoded, encrypted and sent, in this one buffer.
@usableFromInline package struct Packet: ~Copyable {
    /// Where the buffer begins; `capacity` bytes of it are ours.
    @usableFromInline package let base: UnsafeMutableRawPointer
    /// Bytes the buffer holds at most.
    @usableFromInline package let capacity: Int
    /// Bytes in use, from `base`.
    @usableFromInline package var count: Int
    /// Counted: a release build lets a pool go at its last use, which may be ahead of its packets' end.
    private let pool: PacketPool
    private let slot: Int32

    fileprivate init(base: UnsafeMutableRawPointer, capacity: Int, pool: PacketPool, slot: Int32) {
        self.base = base
        self.capacity = capacity
        self.count = 0
        self.pool = pool
        self.slot = slot
    }

    deinit { pool.giveBack(slot) }

    /// The bytes in use.
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        get {
            unsafe _overrideLifetime(RawSpan(_unsafeStart: UnsafeRawPointer(base), byteCount: count), borrowing: self)
        }
    }

    /// A copy of the bytes in use. Allocates: for what is kept, never for each packet.
    package var copiedBytes: [UInt8] { Array(UnsafeRawBufferPointer(start: base, count: count)) }

    /// Appends what `body` writes into the room that is left, and returns what `body` returns.
    @inlinable package mutating func write<R, E: Error>(_ body: (inout OutputRawSpan) throws(E) -> R) throws(E) -> R {
        let room = UnsafeMutableRawBufferPointer(start: base + count, count: capacity - count)
        var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        let result = try body(&out)
        count += unsafe out.finalize(for: room)
        return result
    }

    /// Replaces the bytes in use by a copy of `bytes`, cut at `capacity`.
    package mutating func assign(_ bytes: borrowing RawSpan) {
        count = min(bytes.byteCount, capacity)
        bytes.withUnsafeBytes { source in
            if let start = source.baseAddress { base.copyMemory(from: start, byteCount: count) }
        }
    }
}

/// A fixed number of packet buffers in one slab. Confined to one owner; taking and giving back allocate nothing, and no access
/// to what it counts lasts while another one begins, which need not be checked at run time.
package final class PacketPool {
    /// Room in each packet: an Ethernet MTU with slack for SRTP's trailer.
    package static let packetCapacity = 2_048

    private let slab: UnsafeMutableRawPointer
    private let next: UnsafeMutablePointer<Int32>
    @exclusivity(unchecked) private var free: Int32
    /// Packets there are.
    package let size: Int
    /// Packets that are taken now. 0 once a call has ended.
    @exclusivity(unchecked) package private(set) var taken = 0
    /// Times that `take` found nothing: a counter that should stay 0.
    @exclusivity(unchecked) package private(set) var exhausted = 0

    /// Makes a pool of `size` packets (1…65,536).
    package init(size: Int) {
        precondition((1...65_536).contains(size), "a packet pool holds 1…65,536 packets")
        self.size = size
        slab = .allocate(byteCount: size * Self.packetCapacity, alignment: 64)
        next = .allocate(capacity: size)
        for slot in 0..<size { next[slot] = slot + 1 < size ? Int32(slot + 1) : -1 }
        free = 0
    }

    deinit {
        slab.deallocate()
        next.deallocate()
    }

    /// An empty packet; nil, counted, when all are taken.
    package func take() -> Packet? {
        guard free >= 0 else {
            exhausted += 1
            return nil
        }
        let slot = free
        free = next[Int(slot)]
        taken += 1
        return Packet(
            base: slab + Int(slot) * Self.packetCapacity, capacity: Self.packetCapacity, pool: self, slot: slot)
    }

    fileprivate func giveBack(_ slot: Int32) {
        next[Int(slot)] = free
        free = slot
        taken -= 1
    }
}
