// Big-endian fields of RTP and RTCP. Callers have checked the bounds; a span checks them again.

extension RawSpan {
    /// The 16-bit big-endian field at `offset`.
    func rtpUInt16(at offset: Int) -> UInt16 {
        UInt16(self[rtpByte: offset]) << 8 | UInt16(self[rtpByte: offset + 1])
    }

    /// The 32-bit big-endian field at `offset`.
    func rtpUInt32(at offset: Int) -> UInt32 {
        UInt32(rtpUInt16(at: offset)) << 16 | UInt32(rtpUInt16(at: offset + 2))
    }

    /// The byte at `offset`; traps outside the span, so check first.
    subscript(rtpByte offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }
}

extension OutputRawSpan {
    /// Appends `value`, big-endian.
    @_lifetime(self: copy self)
    mutating func appendRTP(_ value: UInt16) { append(value.bigEndian, as: UInt16.self) }

    /// Appends `value`, big-endian.
    @_lifetime(self: copy self)
    mutating func appendRTP(_ value: UInt32) { append(value.bigEndian, as: UInt32.self) }
}
