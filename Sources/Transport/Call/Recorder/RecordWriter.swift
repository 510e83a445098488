package import ICELite

/// Writes the numbers of a flight recording: variable-length integers (7 bits a byte, lowest first), instants counted from
/// the recording's beginning, texts as known words or as lengths.
package struct RecordWriter: Sendable {
    /// What was written so far.
    package private(set) var bytes: [UInt8] = []
    /// The instant that others are counted from.
    package var epoch: Instant

    /// - Parameter epoch: the recording's beginning.
    package init(epoch: Instant) { self.epoch = epoch }

    /// Forgets what was written and keeps the room.
    package mutating func clear() { bytes.removeAll(keepingCapacity: true) }

    package mutating func byte(_ value: UInt8) { bytes.append(value) }

    package mutating func bool(_ value: Bool) { bytes.append(value ? 1 : 0) }

    /// One to ten bytes.
    package mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// A count, clamped to what a reader takes.
    package mutating func count(_ value: Int) { varint(UInt64(min(max(0, value), RecordReader.largestCount))) }

    /// A length of time of either sign, clamped to what a reader takes.
    package mutating func nanoseconds(_ value: Nanoseconds) {
        let clamped = min(max(value, -RecordReader.longestTime), RecordReader.longestTime)
        varint(UInt64(bitPattern: clamped << 1 ^ clamped >> 63))
    }

    package mutating func duration(_ value: Duration) { nanoseconds(value.nanoseconds) }

    /// An instant, `never` included.
    package mutating func instant(_ value: Instant) {
        bool(value != .never)
        if value != .never { nanoseconds(value - epoch) }
    }

    /// A value that may be missing, behind a byte that says so.
    package mutating func optional<Value>(_ value: Value?, _ write: (inout RecordWriter, Value) -> Void) {
        bool(value != nil)
        if let value { write(&self, value) }
    }

    /// A case by its place among all.
    package mutating func word<Word: CaseIterable & Equatable>(_ value: Word) {
        byte(UInt8(clamping: Word.allCases.enumerated().first { $0.element == value }?.offset ?? Int(UInt8.max)))
    }

    /// A text: its number where it is one of `RecordedText.known`, else its length alone.
    package mutating func text(_ value: String) {
        if let known = RecordedText.known.firstIndex(of: value) {
            varint(UInt64(known) << 1)
        } else {
            varint(UInt64(min(value.utf8.count, RecordedText.longest)) << 1 | 1)
        }
    }

    /// Bytes as they are.
    package mutating func raw(_ other: some Sequence<UInt8>) { bytes.append(contentsOf: other) }
}

/// The texts that a recording may hold word for word: our own, none that names a person, an address or a key.
package enum RecordedText {
    /// Longer ones count as this long.
    package static let longest = 1_024
    /// In this order for ever: new ones go behind.
    package static let known: [String] = [
        "", CallMessage.lineClosedEarly, CallMessage.lineLost, CallMessage.pathLost, CallMessage.messagesNotTaken,
        CallMessage.goingAway, CallMessage.notActive, CallMessage.notOpened(within: 15),
        CallMessage.refused(status: nil), "disabled", "busy", "offer_invalid", "The client ended the call.",
        "The server ended the call.", "The client chose no carriage in time.", "the media path did not come back",
        "the path was lost before the call was active", "the server did not hear us on the media path",
        "secured, but no audio packet came", "the handshake made no progress", "the budget ended without a pair",
        "the certificate is not the one that was signalled", "no common SRTP profile", "call_audio standard",
        "call audio known as standard", "this build has no media path", "welcome has no answer",
    ]

    /// Stands for a text of which only the length is known.
    static func unknown(length: Int) -> String { String(repeating: "?", count: min(max(0, length), longest)) }
}
