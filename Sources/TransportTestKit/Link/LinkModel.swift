/// What a link does to the packets of one direction: loss, delay, jitter, order, copies, rate, outages.
///
/// A value without state: the same model serves the virtual network and the relay of real sockets. All chances are in
/// percent of packets, all times are one way.
public struct LinkModel: Hashable, Sendable {
    /// How packets get lost on the wire.
    public enum Loss: Hashable, Sendable {
        /// None does.
        case none
        /// Each packet by itself, with this chance (0…100).
        case independent(percent: Double)
        /// Gilbert–Elliott: a good state that loses nothing and a bad one that loses everything. `percent` (0…100,
        /// less than 100) of all packets are lost in the long run, in runs of `meanBurst` (≥ 1) packets on average.
        case gilbert(percent: Double, meanBurst: Double)
    }

    /// How the delay of packets varies.
    public enum Jitter: Hashable, Sendable {
        /// It does not.
        case none
        /// Normally distributed around the delay (a sum of 12 uniform draws: nothing lies beyond 6 sigma). A delay
        /// that would be negative is 0.
        case normal(sigma: Duration)
        /// Evenly between `delay - spread` and `delay + spread`, never less than 0.
        case uniform(spread: Duration)
    }

    /// What happens to a packet before anything else.
    public enum Reachability: Hashable, Sendable {
        /// It is sent.
        case open
        /// It vanishes, as behind a firewall that says nothing.
        case drop
        /// The sender is told that it cannot be delivered: ICMP port unreachable.
        case reject
    }

    /// A time in which nothing gets through, counted from the link's beginning.
    public struct BlackHole: Hashable, Sendable {
        /// When it begins.
        public var start: Duration
        /// How long it lasts.
        public var length: Duration

        /// A black hole of `length` that begins at `start` after the link's beginning.
        public init(start: Duration, length: Duration) {
            self.start = start
            self.length = length
        }
    }

    /// The longest time a packet waits in the link's queue before the rate lets it go, unless told otherwise.
    public static let defaultQueueLimit: Duration = .milliseconds(200)
    /// How much longer a reordered packet takes, unless told otherwise: one and a half frames of 20 ms.
    public static let defaultReorderHold: Duration = .milliseconds(30)

    /// Loss on the wire.
    public var loss: Loss = .none
    /// The delay without jitter and queue.
    public var delay: Duration = .zero
    /// The variation of the delay.
    public var jitter: Jitter = .none
    /// Whether jitter may bring packets out of order. If not, a packet waits for the one before it, as in a queue.
    public var jitterReorders = false
    /// Share of packets (0…100) that are held back by `reorderHold`, so that others overtake them.
    public var reorderPercent: Double = 0
    /// How long a reordered packet is held back.
    public var reorderHold: Duration = Self.defaultReorderHold
    /// Share of packets (0…100) that arrive twice.
    public var duplicatePercent: Double = 0
    /// Bits a second the link carries, counted on the bytes given to it; nil for no limit.
    public var bitsPerSecond: Int?
    /// How long a packet may wait for the rate; one that would wait longer is dropped (tail drop).
    public var queueLimit: Duration = Self.defaultQueueLimit
    /// Times in which nothing gets through.
    public var blackHoles: [BlackHole] = []
    /// Whether the other end can be reached at all.
    public var reachability: Reachability = .open

    /// A perfect link: no delay, no loss, any rate.
    public init() {}

    /// A link with a delay and, if wanted, jitter and loss.
    public init(delay: Duration, jitter: Jitter = .none, loss: Loss = .none) {
        self.delay = delay
        self.jitter = jitter
        self.loss = loss
    }
}
