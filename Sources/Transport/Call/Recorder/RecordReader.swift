package import ICELite

/// Why a flight recording cannot be read.
package enum RecordError: Error, Equatable, Sendable {
    /// It ends in the middle of something.
    case truncated
    /// A value is out of its range.
    case malformed
    /// It is no recording, or one of another version.
    case version
    /// Its check sum does not fit: bytes were changed.
    case damaged
}

/// Reads what `RecordWriter` wrote. Any bytes may be given: every value is checked against its range, so that a machine
/// that is restored from them does not overflow.
package struct RecordReader: Sendable {
    /// Times reach this far: about nine years.
    package static let longestTime: Nanoseconds = 1 << 58
    /// The largest count.
    package static let largestCount = 1 << 40

    private let bytes: ArraySlice<UInt8>
    private var position: Int
    private let epoch: Instant

    /// - Parameters:
    ///   - bytes: what was written.
    ///   - epoch: where instants are counted from here; `RecordWriter.epoch` need not be known.
    package init(_ bytes: ArraySlice<UInt8>, epoch: Instant = .zero) {
        self.bytes = bytes
        position = bytes.startIndex
        self.epoch = epoch
    }

    /// Nothing is left.
    package var isAtEnd: Bool { position == bytes.endIndex }

    package mutating func byte() throws(RecordError) -> UInt8 {
        guard position < bytes.endIndex else { throw .truncated }
        defer { position += 1 }
        return bytes[position]
    }

    package mutating func bool() throws(RecordError) -> Bool {
        switch try byte() {
        case 0: false
        case 1: true
        default: throw .malformed
        }
    }

    package mutating func varint() throws(RecordError) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: 0, to: 70, by: 7) {
            let next = try byte()
            let part = UInt64(next & 0x7F)
            guard shift < 63 || part <= 1 else { throw .malformed }
            value |= part << UInt64(shift)
            if next < 0x80 { return value }
        }
        throw .malformed
    }

    /// - Parameter limit: the largest count that is taken.
    package mutating func count(upTo limit: Int = largestCount) throws(RecordError) -> Int {
        guard let value = Int(exactly: try varint()), value <= limit else { throw .malformed }
        return value
    }

    package mutating func nanoseconds() throws(RecordError) -> Nanoseconds {
        let value = try varint()
        let signed = Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
        guard (-Self.longestTime...Self.longestTime).contains(signed) else { throw .malformed }
        return signed
    }

    package mutating func duration() throws(RecordError) -> Duration { Duration(nanoseconds: try nanoseconds()) }

    package mutating func instant() throws(RecordError) -> Instant {
        guard try bool() else { return .never }
        return epoch + (try nanoseconds())
    }

    package mutating func optional<Value>(
        _ read: (inout RecordReader) throws(RecordError) -> Value
    ) throws(RecordError) -> Value? {
        guard try bool() else { return nil }
        return try read(&self)
    }

    package mutating func word<Word: CaseIterable>(_ type: Word.Type = Word.self) throws(RecordError) -> Word {
        let place = Int(try byte())
        guard place < Word.allCases.count else { throw .malformed }
        return Word.allCases[Word.allCases.index(Word.allCases.startIndex, offsetBy: place)]
    }

    package mutating func text() throws(RecordError) -> String {
        let value = try varint()
        let number = Int(clamping: value >> 1)
        if value & 1 == 1 {
            guard number <= RecordedText.longest else { throw .malformed }
            return RecordedText.unknown(length: number)
        }
        guard number < RecordedText.known.count else { throw .malformed }
        return RecordedText.known[number]
    }

    /// The next `count` bytes.
    package mutating func raw(_ count: Int) throws(RecordError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= bytes.endIndex - position else { throw .truncated }
        defer { position += count }
        return bytes[position..<position + count]
    }
}
