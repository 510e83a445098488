internal import ICELite

/// Draws from `Randomness` in integers, so that a seed gives the same numbers everywhere.
extension Randomness {
    /// A number in `0 ..< limit`; 0 when `limit` is 0. Draws once.
    mutating func below(_ limit: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: ((next() >> 32) * UInt64(limit)) >> 32)
    }

    /// True with the chance `percent` (0…100; values beyond are taken as the nearest). Draws once.
    mutating func chance(percent: Double) -> Bool {
        // The comparison with 0 also answers for a NaN.
        guard percent > 0 else { return below(1) != 0 }
        let threshold = min(percent, 100) / 100 * 4_294_967_296
        return Double(next() >> 32) < threshold
    }

    /// A normally distributed length with mean 0: the sum of 12 even draws (Irwin–Hall). Draws 12 times.
    mutating func gauss(sigma: Nanoseconds) -> Nanoseconds {
        var sum: Int64 = -393_210
        for _ in 0..<12 { sum += Int64(below(65_536)) }
        return Nanoseconds(Double(sum) / 65_536 * Double(sigma))
    }

    /// An even length in `-spread ... spread`. Draws once.
    mutating func uniform(spread: Nanoseconds) -> Nanoseconds {
        Nanoseconds((Double(next() >> 32) / 2_147_483_648 - 1) * Double(spread))
    }

    /// A jittered length around `delay`, never negative.
    mutating func jittered(_ delay: Nanoseconds, by jitter: LinkJitter) -> Nanoseconds {
        switch jitter {
        case .none: delay
        case .normal(let sigma): max(0, delay &+ gauss(sigma: sigma))
        case .uniform(let spread): max(0, delay &+ uniform(spread: spread))
        }
    }
}

/// A model's jitter with its lengths in nanoseconds.
enum LinkJitter: Sendable {
    case none
    case normal(sigma: Nanoseconds)
    case uniform(spread: Nanoseconds)

    init(_ jitter: LinkModel.Jitter) {
        switch jitter {
        case .none: self = .none
        case .normal(let sigma): self = .normal(sigma: sigma.boundedNanoseconds)
        case .uniform(let spread): self = .uniform(spread: spread.boundedNanoseconds)
        }
    }
}

extension Duration {
    /// This length in nanoseconds, between 0 and a year: what a model may hold without its sums overflowing.
    var boundedNanoseconds: Nanoseconds { min(max(0, nanoseconds), .seconds(31_536_000)) }
}
