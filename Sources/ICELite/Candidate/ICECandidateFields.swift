/// The fields of a candidate's text, divided by spaces: a reader that borrows the bytes and allocates nothing.
struct ICECandidateFields: ~Escapable {
    /// A field known by its name, in any case: up to 7 bytes in lower case behind a 1, which no other text packs into.
    struct Word: Equatable {
        static let typ = Word("typ")
        static let udp = Word("udp")
        static let host = Word("host")
        static let srflx = Word("srflx")
        static let prflx = Word("prflx")
        static let relay = Word("relay")
        static let raddr = Word("raddr")
        static let rport = Word("rport")
        static let ufrag = Word("ufrag")
        static let local = Word(".local")

        var packed: UInt64 = 1

        init() {}

        private init(_ name: String) {
            for byte in name.utf8 { append(byte) }
        }

        mutating func append(_ byte: UInt8) {
            packed = packed << 8 | UInt64((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
        }
    }

    let bytes: Span<UInt8>
    /// What is left to read.
    private(set) var rest: Range<Int>

    /// Reads `bytes` without the line end and spaces behind them.
    @_lifetime(copy bytes)
    init(_ bytes: borrowing Span<UInt8>) {
        self.bytes = copy bytes
        var end = bytes.count
        while end > 0, bytes[end - 1] == 0x0D || bytes[end - 1] == 0x0A || bytes[end - 1] == 0x20 { end -= 1 }
        rest = 0..<end
    }

    /// Takes `prefix` off the front; false when the text does not begin with it.
    mutating func skip(_ prefix: String) -> Bool {
        var index = rest.lowerBound
        for byte in prefix.utf8 {
            guard index < rest.upperBound, bytes[index] == byte else { return false }
            index += 1
        }
        rest = index..<rest.upperBound
        return true
    }

    /// The next field, which is not empty; nil at the end.
    mutating func next() -> Range<Int>? {
        var start = rest.lowerBound
        while start < rest.upperBound, bytes[start] == 0x20 { start += 1 }
        var end = start
        while end + 8 <= rest.upperBound, !hasSpace(inEightAt: end) { end += 8 }
        while end < rest.upperBound, bytes[end] != 0x20 { end += 1 }
        rest = end..<rest.upperBound
        return start == end ? nil : start..<end
    }

    /// Whether a space is among the 8 bytes at `index`, told at once: a hostile field is a thousand bytes long.
    private func hasSpace(inEightAt index: Int) -> Bool {
        let difference = bytes.bytes.bigEndian(at: index, as: UInt64.self) ^ 0x2020_2020_2020_2020
        // Some byte of the difference is 0.
        return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080 != 0
    }

    // MARK: - What a field says

    /// The field as a name; one that is longer than all known is none of them.
    func word(_ field: Range<Int>) -> Word {
        var word = Word()
        guard field.count <= 7 else { return word }
        for index in field { word.append(bytes[index]) }
        return word
    }

    /// A copy of the field. Allocates when it is longer than 15 bytes.
    func text(_ field: Range<Int>) -> String {
        bytes.extracting(field).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// Digits alone, without a sign; nil when it is no number or more than `limit`.
    func number(_ field: Range<Int>, upTo limit: UInt32) -> UInt32? {
        var value: UInt64 = 0
        for index in field {
            guard (0x30...0x39).contains(bytes[index]) else { return nil }
            value = value * 10 + UInt64(bytes[index] - 0x30)
            guard value <= limit else { return nil }
        }
        return UInt32(value)
    }

    /// ice-chars alone.
    func isICEText(_ field: Range<Int>) -> Bool {
        for index in field where !ICECredentials.isICECharacter(bytes[index]) { return false }
        return true
    }
}
