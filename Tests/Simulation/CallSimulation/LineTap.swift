internal import ICELite

/// Reads along on one direction of a call line: where in the stream an audio packet or a control message ends.
///
/// It finds frames as RFC 6455 §5.2 lays them out; what it does not know it passes over.
struct LineTap {
    /// What a frame of the stream is.
    enum Content {
        /// An RTP packet, by its sequence number.
        case audio(sequence: UInt16)
        case report
        /// A control message, by the word behind `transport.`, and whether it says `"on":true`.
        case control(String, isOn: Bool)
        case other
    }

    /// A frame and the number of the stream's byte behind it.
    struct Item {
        var end: Int
        /// When its first byte came.
        var begunAt: Instant
        var byteCount: Int
        var content: Content
    }

    private static let typePrefix = Array(#"{"type":"transport."#.utf8)
    private static let on = Array(#""on":true"#.utf8)
    /// Bytes of a text that are looked at.
    private static let lookedAt = 160

    private var bytes: [UInt8] = []
    private var begin = 0
    private var streamOffset = 0
    private var isUpgraded = false
    /// When the first byte came of what is not a whole frame yet.
    private var begunAt = Instant.zero

    /// Takes the stream's next bytes, which came at `now`, and appends what they end to `items`.
    mutating func receive(_ chunk: some Collection<UInt8>, at now: Instant, into items: inout [Item]) {
        if begin == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            begin = 0
            begunAt = now
        }
        bytes.append(contentsOf: chunk)
        if !isUpgraded, !skipHead() { return }
        while let item = next() {
            items.append(item)
            begunAt = now
        }
        if begin > 16_384 {
            bytes.removeFirst(begin)
            begin = 0
        }
    }

    private mutating func skipHead() -> Bool {
        guard bytes.count >= begin + 4 else { return false }
        for index in begin...(bytes.count - 4)
        where bytes[index] == 13 && bytes[index + 1] == 10 && bytes[index + 2] == 13 && bytes[index + 3] == 10 {
            streamOffset += index + 4 - begin
            begin = index + 4
            isUpgraded = true
            return true
        }
        return false
    }

    private mutating func next() -> Item? {
        let available = bytes.count - begin
        guard available >= 2 else { return nil }
        let opcode = bytes[begin] & 0x0F
        let isMasked = bytes[begin + 1] & 0x80 != 0
        var length = Int(bytes[begin + 1] & 0x7F)
        var header = 2
        if length == 126 {
            guard available >= 4 else { return nil }
            length = Int(bytes[begin + 2]) << 8 | Int(bytes[begin + 3])
            header = 4
        } else if length == 127 {
            guard available >= 10 else { return nil }
            length = (2..<10).reduce(0) { $0 << 8 | Int(bytes[begin + $1]) }
            header = 10
        }
        let mask = begin + header
        if isMasked { header += 4 }
        guard available >= header + length else { return nil }
        let payload = begin + header
        let byte = { (bytes: [UInt8], index: Int) -> UInt8 in
            isMasked ? bytes[payload + index] ^ bytes[mask + (index & 3)] : bytes[payload + index]
        }
        var content = Content.other
        if opcode == 2, length >= 12 {
            let kind = byte(bytes, 1) & 0x7F
            content =
                (64...95).contains(kind)
                ? .report : .audio(sequence: UInt16(byte(bytes, 2)) << 8 | UInt16(byte(bytes, 3)))
        } else if opcode == 1 {
            let text = (0..<min(length, Self.lookedAt)).map { byte(bytes, $0) }
            if text.starts(with: Self.typePrefix) {
                let word = text.dropFirst(Self.typePrefix.count).prefix { $0 != UInt8(ascii: "\"") }
                let isOn = (0...max(0, text.count - Self.on.count)).contains { text[$0...].starts(with: Self.on) }
                content = .control(String(decoding: word, as: UTF8.self), isOn: isOn)
            }
        }
        begin += header + length
        streamOffset += header + length
        return Item(end: streamOffset, begunAt: begunAt, byteCount: length, content: content)
    }
}
