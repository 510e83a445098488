/// A ufrag of at most 32 bytes, inline: the key of the endpoint's routing table.
public struct STUNUsernameFragment: Hashable, Sendable, CustomStringConvertible {
    /// Longest ufrag that fits, bytes. Ours have 8.
    public static let capacity = 32

    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    /// Bytes there are, 0…32.
    public private(set) var count = 0

    private init() {}

    /// The ufrag `text`; nil when it is longer than 32 bytes of UTF-8.
    public init?(_ text: String) {
        for byte in text.utf8 { guard append(byte) else { return nil } }
    }

    fileprivate init?(_ bytes: borrowing RawSpan, in range: Range<Int>) {
        for index in range { guard append(bytes.bigEndian(at: index, as: UInt8.self)) else { return nil } }
    }

    private mutating func append(_ byte: UInt8) -> Bool {
        let value = UInt64(byte) << UInt64(8 * (count % 8))
        switch count / 8 {
        case 0: words.0 |= value
        case 1: words.1 |= value
        case 2: words.2 |= value
        case 3: words.3 |= value
        default: return false
        }
        count += 1
        return true
    }

    public static func == (left: Self, right: Self) -> Bool { left.count == right.count && left.words == right.words }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
        hasher.combine(count)
    }

    /// The ufrag as text. Allocates.
    public var description: String {
        let all = [words.0, words.1, words.2, words.3]
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: all[$0 / 8] >> UInt64(8 * ($0 % 8))) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The local ufrag (what stands before the colon of USERNAME) of a Binding request, nothing of it verified.
///
/// For routing on a port that many calls share. Nil for anything but a well-formed Binding request with a USERNAME
/// whose first half has 1…32 bytes. Does not allocate.
public func stunUsernameFragment(of bytes: borrowing RawSpan) -> STUNUsernameFragment? {
    guard STUNMessage.isSTUN(bytes), bytes.bigEndian(at: 0, as: UInt16.self) == 0x0001 else { return nil }
    var offset = STUNMessage.headerSize
    let end = min(bytes.byteCount, STUNMessage.maximumSize)
    while offset + 4 <= end {
        let length = Int(bytes.bigEndian(at: offset + 2, as: UInt16.self))
        let start = offset + 4
        guard start + length <= end else { return nil }
        if bytes.bigEndian(at: offset, as: UInt16.self) == STUNAttributeType.username.rawValue {
            for index in start..<(start + length) where bytes.bigEndian(at: index, as: UInt8.self) == 0x3A {
                return index == start ? nil : STUNUsernameFragment(bytes, in: start..<index)
            }
            return nil
        }
        offset = start + (length + 3) & ~3
    }
    return nil
}
