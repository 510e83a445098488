/// Walks through an RTCP compound, packet by packet. Does not allocate. RFC 3550 §6.1, §A.2.
///
/// Types that are not known are handed out as `unknown`, never an error; what was read before an error stays good.
/// A packet that stands alone (RFC 5506) is a compound of one.
package struct RTCPReader: Sendable {
    private var offset = 0

    package init() {}

    /// The next packet of the compound `bytes` (the same at each call); nil at its end.
    ///
    /// - Throws: `truncated`, `badVersion`, `badPadding`, `badLength`; reading ends with an error.
    package mutating func next(in bytes: borrowing RawSpan) throws(RTPError) -> RTCPPacket? {
        let left = bytes.byteCount - offset
        if left == 0 { return nil }
        guard left >= 4 else { throw .truncated }
        let first = bytes[rtpByte: offset]
        guard first >> 6 == 2 else { throw .badVersion(first >> 6) }
        let length = 4 + 4 * Int(bytes.rtpUInt16(at: offset + 2))
        guard length <= left else { throw .truncated }
        var end = offset + length
        if first & 0x20 != 0 {
            let padding = Int(bytes[rtpByte: end - 1])
            // RFC 3550 §6.4.1: a multiple of four, and only the last packet may have it.
            guard length == left, padding > 0, padding % 4 == 0, padding <= length - 4 else { throw .badPadding }
            end -= padding
        }
        let body = (offset + 4)..<end
        let type = bytes[rtpByte: offset + 1]
        let count = Int(first & 0x1F)
        offset += length
        switch type {
        case RTCPType.senderReport:
            guard body.count >= 24 + count * RTCPReportBlock.byteCount else { throw .badLength }
            let info = RTCPSenderInfo(
                ntpTime: UInt64(bytes.rtpUInt32(at: body.lowerBound + 4)) << 32
                    | UInt64(bytes.rtpUInt32(at: body.lowerBound + 8)),
                rtpTimestamp: bytes.rtpUInt32(at: body.lowerBound + 12),
                packetCount: bytes.rtpUInt32(at: body.lowerBound + 16),
                octetCount: bytes.rtpUInt32(at: body.lowerBound + 20))
            return .senderReport(
                SSRC(bytes.rtpUInt32(at: body.lowerBound)), info,
                blocks: RTCPReportBlocks(start: body.lowerBound + 24, count: count))
        case RTCPType.receiverReport:
            guard body.count >= 4 + count * RTCPReportBlock.byteCount else { throw .badLength }
            return .receiverReport(
                SSRC(bytes.rtpUInt32(at: body.lowerBound)),
                blocks: RTCPReportBlocks(start: body.lowerBound + 4, count: count))
        case RTCPType.sourceDescription:
            return try Self.sourceDescription(body, count: count, in: bytes)
        case RTCPType.goodbye:
            guard body.count >= 4 * count else { throw .badLength }
            return .goodbye(RTCPSources(start: body.lowerBound, count: count))
        default:
            return .unknown(type: type)
        }
    }

    /// RFC 3550 §6.5: walks every chunk, so that a malformed one is found, and keeps the first.
    private static func sourceDescription(
        _ body: Range<Int>, count: Int, in bytes: borrowing RawSpan
    ) throws(RTPError) -> RTCPPacket {
        var position = body.lowerBound
        var firstSSRC: SSRC?
        var firstName: Range<Int>?
        for chunk in 0..<count {
            guard body.upperBound - position >= 8 else { throw .badLength }
            let ssrc = SSRC(bytes.rtpUInt32(at: position))
            if chunk == 0 { firstSSRC = ssrc }
            let chunkStart = position
            position += 4
            while true {
                guard position < body.upperBound else { throw .badLength }
                let item = bytes[rtpByte: position]
                if item == 0 { break }
                guard position + 2 <= body.upperBound else { throw .badLength }
                let text = (position + 2)..<(position + 2 + Int(bytes[rtpByte: position + 1]))
                guard text.upperBound <= body.upperBound else { throw .badLength }
                if item == 1, chunk == 0, firstName == nil { firstName = text }
                position = text.upperBound
            }
            // The null items end at the next 32-bit boundary of the chunk.
            position = chunkStart + (position - chunkStart + 4) / 4 * 4
            guard position <= body.upperBound else { throw .badLength }
        }
        return .sourceDescription(firstSSRC, cname: firstName)
    }
}
