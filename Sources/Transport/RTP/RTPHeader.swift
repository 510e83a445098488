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

    /// Reads the header of the whole packet `bytes`: skips contributing sources and a header extension of any profile,
    /// takes padding off. Does not allocate.
    ///
    /// - Throws: `truncated`, `badVersion`, `badPadding`. An empty payload is no error: its sequence number counts.
    package init(parsing bytes: borrowing RawSpan) throws(RTPError) {
        guard bytes.byteCount >= Self.fixedByteCount else { throw .truncated }
        let first = bytes[rtpByte: 0]
        guard first >> 6 == 2 else { throw .badVersion(first >> 6) }
        var start = Self.fixedByteCount + 4 * Int(first & 0x0F)
        if first & 0x10 != 0 {
            guard bytes.byteCount >= start + 4 else { throw .truncated }
            start += 4 + 4 * Int(bytes.rtpUInt16(at: start + 2))
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

    /// Appends the twelve bytes of this header; the payload follows. Does not allocate.
    ///
    /// - Throws: `noRoom`, with `out` untouched.
    @_lifetime(out: copy out)
    package func encode(into out: inout OutputRawSpan) throws(RTPError) {
        guard out.freeCapacity >= Self.fixedByteCount else { throw .noRoom }
        out.append(0x80, as: UInt8.self)
        out.append((marker ? 0x80 : 0) | payloadType.rawValue, as: UInt8.self)
        out.appendRTP(sequenceNumber.rawValue)
        out.appendRTP(timestamp)
        out.appendRTP(ssrc.rawValue)
    }
}

/// Whether a packet that is RTP or RTCP is RTCP: its second byte, marker included, is 192…223. RFC 5761 §4.
///
/// False for fewer than two bytes.
package func isRTCP(_ bytes: borrowing RawSpan) -> Bool {
    bytes.byteCount >= 2 && (192...223).contains(bytes[rtpByte: 1])
}
