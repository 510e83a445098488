/// An input read as a script: byte by byte, then zeros once it has ended.
struct Script {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    /// Nothing is left to do.
    var isEnded: Bool { bytes.isEmpty }

    /// The next byte.
    mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

    /// The next byte as one of `count` choices.
    mutating func choice(_ count: Int) -> Int { Int(byte()) % count }

    /// A bit field read from one byte.
    mutating func flags() -> UInt8 { byte() }

    /// A byte that says how many bytes follow, and these.
    mutating func datagram() -> [UInt8] {
        let count = min(Int(byte()), bytes.count)
        defer { bytes = bytes.dropFirst(count) }
        return Array(bytes.prefix(count))
    }

    /// 0 ms … 16 s: the byte squared, as quarter milliseconds.
    mutating func duration() -> Int64 {
        let value = Int64(byte())
        return value * value * 250_000
    }
}
