/// Writes RTCP packets, one after another, into a compound. Does not allocate. RFC 3550 §6.
package enum RTCPWriter {
    /// Appends a sender report with at most one block. RFC 3550 §6.4.1.
    ///
    /// - Throws: `noRoom`, with `out` untouched.
    @_lifetime(out: copy out)
    package static func senderReport(
        from ssrc: SSRC, _ info: RTCPSenderInfo, block: RTCPReportBlock?, into out: inout OutputRawSpan
    ) throws(RTPError) {
        let length = 28 + (block == nil ? 0 : RTCPReportBlock.byteCount)
        try header(RTCPType.senderReport, count: block == nil ? 0 : 1, byteCount: length, into: &out)
        out.appendRTP(ssrc.rawValue)
        out.appendRTP(UInt32(truncatingIfNeeded: info.ntpTime >> 32))
        out.appendRTP(UInt32(truncatingIfNeeded: info.ntpTime))
        out.appendRTP(info.rtpTimestamp)
        out.appendRTP(info.packetCount)
        out.appendRTP(info.octetCount)
        block?.append(to: &out)
    }

    /// Appends a receiver report with at most one block. RFC 3550 §6.4.2.
    ///
    /// - Throws: `noRoom`, with `out` untouched.
    @_lifetime(out: copy out)
    package static func receiverReport(
        from ssrc: SSRC, block: RTCPReportBlock?, into out: inout OutputRawSpan
    ) throws(RTPError) {
        let length = 8 + (block == nil ? 0 : RTCPReportBlock.byteCount)
        try header(RTCPType.receiverReport, count: block == nil ? 0 : 1, byteCount: length, into: &out)
        out.appendRTP(ssrc.rawValue)
        block?.append(to: &out)
    }

    /// Appends a source description with the CNAME `name` (at most 255 bytes). RFC 3550 §6.5.1.
    ///
    /// - Throws: `noRoom`, with `out` untouched.
    @_lifetime(out: copy out)
    package static func sourceDescription(
        of ssrc: SSRC, cname name: [UInt8], into out: inout OutputRawSpan
    ) throws(RTPError) {
        precondition(name.count <= 255, "a CNAME has at most 255 bytes")
        let chunk = (4 + 2 + name.count + 4) / 4 * 4
        try header(RTCPType.sourceDescription, count: 1, byteCount: 4 + chunk, into: &out)
        out.appendRTP(ssrc.rawValue)
        out.append(1, as: UInt8.self)
        out.append(UInt8(name.count), as: UInt8.self)
        for byte in name { out.append(byte, as: UInt8.self) }
        for _ in (6 + name.count)..<chunk { out.append(0, as: UInt8.self) }
    }

    /// Appends a goodbye of one stream. RFC 3550 §6.6.
    ///
    /// - Throws: `noRoom`, with `out` untouched.
    @_lifetime(out: copy out)
    package static func goodbye(of ssrc: SSRC, into out: inout OutputRawSpan) throws(RTPError) {
        try header(RTCPType.goodbye, count: 1, byteCount: 8, into: &out)
        out.appendRTP(ssrc.rawValue)
    }

    @_lifetime(out: copy out)
    private static func header(
        _ type: UInt8, count: UInt8, byteCount: Int, into out: inout OutputRawSpan
    ) throws(RTPError) {
        guard out.freeCapacity >= byteCount else { throw .noRoom }
        out.append(0x80 | count, as: UInt8.self)
        out.append(type, as: UInt8.self)
        out.appendRTP(UInt16(byteCount / 4 - 1))
    }
}
