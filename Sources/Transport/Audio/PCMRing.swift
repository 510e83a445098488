internal import Synchronization

/// A lock-free ring of 16-bit samples between one writing and one reading thread.
///
/// Exactly one thread writes and one reads at a time; either may be a real-time audio thread: nothing here blocks,
/// allocates or calls the system. What does not fit is refused and counted; what is not there is not made up.
public final class PCMRing: Sendable {
    /// Samples the ring holds.
    public let capacity: Int

    // Guard: a sample is the writer's until `written` has passed it, the reader's until `consumed` has.
    private nonisolated(unsafe) let samples: UnsafeMutablePointer<Int16>
    private let mask: Int
    private let written = Atomic<Int>(0)
    private let consumed = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)
    private let missed = Atomic<Int>(0)

    /// A ring of at least `minimumCapacity` samples (1…4,194,304), rounded up to a power of two.
    public init(minimumCapacity: Int) {
        precondition((1...4_194_304).contains(minimumCapacity), "a PCM ring holds 1…4,194,304 samples")
        var size = 1
        while size < minimumCapacity { size *= 2 }
        capacity = size
        mask = size - 1
        samples = .allocate(capacity: size)
        samples.initialize(repeating: 0, count: size)
    }

    deinit { samples.deallocate() }

    /// Samples that a read would get now. Exact for the reader, a lower bound for others.
    public var availableToRead: Int { written.load(ordering: .acquiring) - consumed.load(ordering: .acquiring) }

    /// Samples that a write would take now. Exact for the writer, a lower bound for others.
    public var availableToWrite: Int { capacity - availableToRead }

    /// Samples that writes had no room for.
    public var droppedSamples: Int { refused.load(ordering: .relaxed) }

    /// Samples that reads asked for and did not get.
    public var missedSamples: Int { missed.load(ordering: .relaxed) }

    /// Puts samples in, oldest first. The writing thread only.
    ///
    /// - Returns: how many were taken: fewer than given when the ring is full, the rest is counted as dropped.
    @discardableResult
    public func write(_ input: UnsafeBufferPointer<Int16>) -> Int {
        let head = written.load(ordering: .relaxed)
        let free = capacity - (head - consumed.load(ordering: .acquiring))
        let count = min(free, input.count)
        if count > 0, let source = input.baseAddress {
            let start = head & mask
            let first = min(count, capacity - start)
            (samples + start).update(from: source, count: first)
            samples.update(from: source + first, count: count - first)
            written.store(head + count, ordering: .releasing)
        }
        if count < input.count {
            refused.store(refused.load(ordering: .relaxed) + input.count - count, ordering: .relaxed)
        }
        return count
    }

    /// Takes samples out, oldest first. The reading thread only.
    ///
    /// - Returns: how many were written to the front of `output`; the rest of it is untouched, and counted as missed.
    @discardableResult
    public func read(into output: UnsafeMutableBufferPointer<Int16>) -> Int {
        let tail = consumed.load(ordering: .relaxed)
        let count = min(written.load(ordering: .acquiring) - tail, output.count)
        if count > 0, let target = output.baseAddress {
            let start = tail & mask
            let first = min(count, capacity - start)
            target.update(from: samples + start, count: first)
            (target + first).update(from: samples, count: count - first)
            consumed.store(tail + count, ordering: .releasing)
        }
        if count < output.count {
            missed.store(missed.load(ordering: .relaxed) + output.count - count, ordering: .relaxed)
        }
        return count
    }

    /// Throws away what is in the ring. The reading thread only.
    ///
    /// - Returns: how many samples went.
    @discardableResult
    public func discardAll() -> Int {
        let tail = consumed.load(ordering: .relaxed)
        let head = written.load(ordering: .acquiring)
        consumed.store(head, ordering: .releasing)
        return head - tail
    }
}
