/// Stream bytes in one contiguous buffer: written at the tail, read and consumed at the head.
///
/// The buffer grows by doubling and is compacted only when at least half of it lies unused before the head, so appending
/// costs amortised O(n) however the bytes are cut. Once it has its size it allocates nothing.
package struct ByteQueue: ~Copyable {
    private var base: UnsafeMutableRawPointer
    /// Bytes the buffer holds before it must grow.
    package private(set) var capacity: Int
    private var head = 0
    private var tail = 0

    /// An empty queue with room for `capacity` bytes (at least 64).
    package init(capacity: Int = 4_096) {
        self.capacity = max(64, capacity)
        base = .allocate(byteCount: self.capacity, alignment: 16)
    }

    deinit { base.deallocate() }

    /// Bytes that are in the queue.
    package var count: Int { tail - head }
    /// Whether nothing is in the queue.
    package var isEmpty: Bool { head == tail }

    /// The bytes in the queue, oldest first.
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        get {
            unsafe _overrideLifetime(
                RawSpan(_unsafeStart: UnsafeRawPointer(base + head), byteCount: tail - head), borrowing: self)
        }
    }

    /// The bytes at `range`, counted from the head.
    @_lifetime(borrow self)
    package func bytes(in range: Range<Int>) -> RawSpan {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "a range outside the queue")
        return unsafe _overrideLifetime(
            RawSpan(_unsafeStart: UnsafeRawPointer(base + head + range.lowerBound), byteCount: range.count),
            borrowing: self)
    }

    /// The byte at `offset` from the head, which must be in the queue.
    package subscript(offset: Int) -> UInt8 {
        precondition(offset >= 0 && offset < count, "an offset outside the queue")
        return base.load(fromByteOffset: head + offset, as: UInt8.self)
    }

    /// Hands the bytes at `range` to `body`.
    package func withBytes<R>(in range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "a range outside the queue")
        return body(UnsafeRawBufferPointer(start: base + head + range.lowerBound, count: range.count))
    }

    // MARK: Writing

    /// Appends a copy of `span`.
    package mutating func append(_ span: borrowing RawSpan) {
        span.withUnsafeBytes { append(unsafe: $0) }
    }

    /// Appends a copy of `array`.
    package mutating func append(_ array: [UInt8]) { append(array.span.bytes) }

    /// Appends a copy of the bytes at `range` of `other`.
    package mutating func append(_ range: Range<Int>, of other: borrowing ByteQueue) {
        other.withBytes(in: range) { append(unsafe: $0) }
    }

    /// Appends one byte.
    package mutating func append(_ byte: UInt8) {
        reserve(1)
        base.storeBytes(of: byte, toByteOffset: tail, as: UInt8.self)
        tail += 1
    }

    /// Appends the low `count` bytes of `value` (1…8), most significant first.
    package mutating func append(bigEndian value: UInt64, count: Int) {
        precondition((1...8).contains(count), "1…8 bytes of an integer")
        for index in 0..<count { append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(count - 1 - index)))) }
    }

    /// Makes sure that `additional` more bytes can be appended without a reallocation.
    package mutating func reserve(_ additional: Int) {
        if tail + additional <= capacity { return }
        if head >= capacity / 2, count + additional <= capacity {
            base.copyMemory(from: base + head, byteCount: count)
        } else {
            var larger = capacity
            while larger < count + additional { larger *= 2 }
            if larger == capacity { larger *= 2 }
            let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
            moved.copyMemory(from: base + head, byteCount: count)
            base.deallocate()
            base = moved
            capacity = larger
        }
        tail -= head
        head = 0
    }

    private mutating func append(unsafe buffer: UnsafeRawBufferPointer) {
        guard let start = buffer.baseAddress, !buffer.isEmpty else { return }
        reserve(buffer.count)
        (base + tail).copyMemory(from: start, byteCount: buffer.count)
        tail += buffer.count
    }

    // MARK: Reading

    /// Removes `count` bytes from the head; all of them if there are fewer.
    package mutating func consume(_ count: Int) {
        head += max(0, min(count, self.count))
        if head == tail { removeAll() }
    }

    /// Empties the queue and keeps its buffer.
    package mutating func removeAll() {
        head = 0
        tail = 0
    }

    /// Empties the queue, and gives back a buffer that has grown beyond `capacity` bytes.
    package mutating func removeAll(shrinkingTo capacity: Int) {
        removeAll()
        guard self.capacity > capacity else { return }
        base.deallocate()
        self.capacity = max(64, capacity)
        base = .allocate(byteCount: self.capacity, alignment: 16)
    }

    /// Moves bytes from the head into `out`, as many as fit. Returns how many; 0 leaves both untouched.
    package mutating func drain(into out: inout OutputRawSpan) -> Int {
        let moved = min(count, out.freeCapacity)
        guard moved > 0 else { return 0 }
        let start = UnsafeRawPointer(base + head)
        unsafe out.withUnsafeMutableBytes { room, initialized in
            if let target = room.baseAddress { (target + initialized).copyMemory(from: start, byteCount: moved) }
            initialized += moved
        }
        consume(moved)
        return moved
    }

    /// Applies the RFC 6455 §5.3 mask `key` (its first byte in the high 8 bits) to the bytes at `range`.
    package mutating func mask(_ range: Range<Int>, key: UInt32) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "a range outside the queue")
        let wide = UInt64(key) << 32 | UInt64(key)
        let swapped = wide.bigEndian
        var at = head + range.lowerBound
        let end = head + range.upperBound
        while at + 8 <= end {
            let word = base.loadUnaligned(fromByteOffset: at, as: UInt64.self) ^ swapped
            base.storeBytes(of: word, toByteOffset: at, as: UInt64.self)
            at += 8
        }
        var shift: UInt32 = 24
        while at < end {
            let byte = base.load(fromByteOffset: at, as: UInt8.self) ^ UInt8(truncatingIfNeeded: key >> shift)
            base.storeBytes(of: byte, toByteOffset: at, as: UInt8.self)
            shift = shift == 0 ? 24 : shift - 8
            at += 1
        }
    }
}
