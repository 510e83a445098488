/// The generator that the named traces are drawn from: splitmix64 seeded by FNV-1a of the name, integers only.
struct TraceRandom {
    private var state: UInt64

    init(name: String) { state = Self.hash(name.utf8) }

    /// FNV-1a, 64 bit.
    static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number in `0 ..< limit`.
    mutating func below(_ limit: Int) -> Int { Int(((next() >> 32) &* UInt64(limit)) >> 32) }

    /// True with the chance of `partsPerMillion`.
    mutating func chance(_ partsPerMillion: Int) -> Bool { below(1_000_000) < partsPerMillion }

    /// The sum of 12 even draws less its mean, times sigma, divided towards minus infinity.
    mutating func gauss(_ sigma: Int) -> Int {
        var sum = -393_210
        for _ in 0..<12 { sum += below(65_536) }
        return (sum * sigma) >> 16
    }
}
