/// The header of an RTP packet and where its payload lies. RFC 3550 §5.1.
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// |V=2|P|X|  CC   |M|     PT      |       sequence number         |
/// |                           timestamp                           |
/// |           synchronization source (SSRC) identifier            |
/// |            contributing source (CSRC) identifiers ...         |
/// |  extension profile            |  length in 32-bit words       |
/// ```
package struct RTPHeader: Hashable, Sendable {
    /// Bytes of the header without contributing sources and extension: what `encode` writes.
    package static let fixedByteCount = 12

    /// Marks the first packet after silence. RFC 3551 §4.1.
    package var marker: Bool
    /// What the payload is.
    package var payloadType: PayloadType
    /// Counts packets.
    package var sequenceNumber: SequenceNumber
    /// Media time of the payload's first sample, in RTP ticks (48,000 a second for Opus).
    package var timestamp: UInt32
    /// Whose stream it is.
    package var ssrc: SSRC
    /// Where the payload lies in the parsed packet, without padding; may be empty. `12..<12` for a header that was made.
    package private(set) var payload: Range<Int>
    /// Contributing sources that a mixer names, 0…15. 0 in a header that was made.
    package private(set) var sourceCount = 0
    /// The header extension of a parsed packet; nil without one.
    package private(set) var extensions: RTPExtensionBlock?

    /// A header to encode.
    package init(
        marker: Bool, payloadType: PayloadType, sequenceNumber: SequenceNumber, timestamp: UInt32, ssrc: SSRC
    ) {
        self.marker = marker
        self.payloadType = payloadType
        self.sequenceNumber = sequenceNumber
        self.timestamp = timestamp
        self.ssrc = ssrc
        payload = Self.fixedByteCount..<Self.fixedByteCount
    }

    /// Reads the header of the whole packet `bytes`: finds contributing sources and a header extension of any profile,
    /// takes padding off. Does not allocate.
    ///
    /// - Throws: `truncated`, `badVersion`, `badPadding`. An empty payload is no error: its sequence number counts.
    package init(parsing bytes: borrowing RawSpan) throws(RTPError) {
        guard bytes.byteCount >= Self.fixedByteCount else { throw .truncated }
        let first = bytes[rtpByte: 0]
        guard first >> 6 == 2 else { throw .badVersion(first >> 6) }
        sourceCount = Int(first & 0x0F)
        var start = Self.fixedByteCount + 4 * sourceCount
        if first & 0x10 != 0 {
            guard bytes.byteCount >= start + 4 else { throw .truncated }
            let profile = bytes.rtpUInt16(at: start)
            let elements = (start + 4)..<(start + 4 + 4 * Int(bytes.rtpUInt16(at: start + 2)))
            extensions = RTPExtensionBlock(profile: profile, elements: elements)
            start = elements.upperBound
        }
        guard bytes.byteCount >= start else { throw .truncated }
        var end = bytes.byteCount
        if first & 0x20 != 0 {
            let padding = Int(bytes[rtpByte: end - 1])
            guard padding > 0, padding <= end - start else { throw .badPadding }
            end -= padding
        }
        let second = bytes[rtpByte: 1]
        marker = second & 0x80 != 0
        payloadType = PayloadType(maskingHeaderByte: second)
        sequenceNumber = SequenceNumber(bytes.rtpUInt16(at: 2))
        timestamp = bytes.rtpUInt32(at: 4)
        ssrc = SSRC(bytes.rtpUInt32(at: 8))
        payload = start..<end
    }

    /// Contributing source `index` (0..<`sourceCount`) of the packet `bytes` that this header was parsed from.
    package func source(_ index: Int, in bytes: borrowing RawSpan) -> SSRC {
        precondition((0..<sourceCount).contains(index), "no such contributing source")
        return SSRC(bytes.rtpUInt32(at: Self.fixedByteCount + 4 * index))
    }

    /// Appends this header; the payload follows, and behind it, when `isPadded`, what `appendPadding` writes. Twelve bytes
    /// unless there are sources or extensions. Does not allocate.
    ///
    /// - Parameters:
    ///   - sources: contributing sources, at most 15. RFC 3550 §5.1.
    ///   - extensions: what goes into the header extension; a block without elements is not written. RFC 8285.
    ///   - withMID: write the `mid` among them.
    ///   - level: the audio level among them.
    /// - Throws: `noRoom`, with `out` untouched.
    @_lifetime(out: copy out)
    package func encode(
        into out: inout OutputRawSpan, sources: [SSRC] = [], extensions: RTPHeaderExtensions = RTPHeaderExtensions(),
        withMID: Bool = true, level: AudioLevel = .silence, isPadded: Bool = false
    ) throws(RTPError) {
        precondition(sources.count <= 15, "a packet names at most 15 contributing sources")
        let extensionByteCount = extensions.byteCount(withMID: withMID)
        guard out.freeCapacity >= Self.fixedByteCount + 4 * sources.count + extensionByteCount else { throw .noRoom }
        let flags: UInt8 = 0x80 | (isPadded ? 0x20 : 0) | (extensionByteCount > 0 ? 0x10 : 0)
        out.append(flags | UInt8(sources.count), as: UInt8.self)
        out.append((marker ? 0x80 : 0) | payloadType.rawValue, as: UInt8.self)
        out.appendRTP(sequenceNumber.rawValue)
        out.appendRTP(timestamp)
        out.appendRTP(ssrc.rawValue)
        for source in sources { out.appendRTP(source.rawValue) }
        extensions.append(withMID: withMID, level: level, to: &out)
    }

    /// Appends `count` (1…255) bytes of padding behind the payload of a packet whose header says that it is padded.
    ///
    /// - Throws: `noRoom`, with `out` untouched.
    @_lifetime(out: copy out)
    package static func appendPadding(_ count: UInt8, into out: inout OutputRawSpan) throws(RTPError) {
        precondition(count > 0, "padding counts its own last byte")
        guard out.freeCapacity >= Int(count) else { throw .noRoom }
        for _ in 1..<count { out.append(0, as: UInt8.self) }
        out.append(count, as: UInt8.self)
    }
}

/// Whether a packet that is RTP or RTCP is RTCP: its second byte, marker included, is 192…223. RFC 5761 §4.
///
/// False for fewer than two bytes.
package func isRTCP(_ bytes: borrowing RawSpan) -> Bool {
    bytes.byteCount >= 2 && (192...223).contains(bytes[rtpByte: 1])
}
