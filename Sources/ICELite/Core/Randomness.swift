/// The source of random numbers that is handed to a machine: the system's in a call, a seeded one in a simulation.
///
/// One concrete type, so that no machine is generic over its generator.
public struct Randomness: RandomNumberGenerator, Sendable {
    private enum Source: Sendable {
        case system
        case seeded(UInt64)
    }

    private var source: Source

    /// The operating system's generator: fit for keys and passwords.
    public static var system: Randomness { Randomness(source: .system) }

    /// A splitmix64 stream that begins at `seed`. Reproducible, and never fit for a secret.
    public static func seeded(_ seed: UInt64) -> Randomness { Randomness(source: .seeded(seed)) }

    private init(source: Source) { self.source = source }

    public mutating func next() -> UInt64 {
        switch source {
        case .system:
            var generator = SystemRandomNumberGenerator()
            return generator.next()
        case .seeded(var state):
            state &+= 0x9E37_79B9_7F4A_7C15
            source = .seeded(state)
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    /// A generator of its own for the component called `name`: a draw in one never shifts the numbers of another.
    ///
    /// The system's source splits into itself.
    package mutating func split(_ name: String) -> Randomness {
        guard case .seeded(let state) = source else { return self }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return .seeded(state ^ hash)
    }

    /// `count` random bytes.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            let word = next()
            for shift in 0..<min(8, count - bytes.count) {
                bytes.append(UInt8(truncatingIfNeeded: word >> (8 * UInt64(shift))))
            }
        }
        return bytes
    }
}
