/// The header extensions of a call's packets, under the ids that were negotiated: what we write, and what we look for.
///
/// One-byte elements where ids and lengths allow them, else two-byte ones. RFC 8285, RFC 9143 §15 (MID), RFC 6464.
package struct RTPHeaderExtensions: Hashable, Sendable {
    /// The id of `mid`; nil when it was not negotiated.
    package private(set) var midID: UInt8?
    /// The media section's name: 1…255 bytes when `midID` is there.
    package private(set) var mid: [UInt8] = []
    /// The id of the audio level; nil when it was not negotiated.
    package private(set) var audioLevelID: UInt8?

    /// None.
    package init() {}

    /// Those that have an id 1…255, of which 15 means something else in one-byte elements and makes them two-byte ones.
    /// A `mid` of 0 or more than 255 bytes is left out; so is an audio level under the same id.
    package init(midID: UInt8?, mid: String?, audioLevelID: UInt8?) {
        let name = Array((mid ?? "").utf8)
        if let midID, midID > 0, (1...255).contains(name.count) {
            self.midID = midID
            self.mid = name
        }
        if let audioLevelID, audioLevelID > 0, audioLevelID != self.midID { self.audioLevelID = audioLevelID }
    }

    /// Bytes of the block with or without `mid`, its four of profile and length included; 0 when nothing is written.
    package func byteCount(withMID: Bool) -> Int {
        let head = isOneByte ? 1 : 2
        var length = 0
        if withMID, midID != nil { length += head + mid.count }
        if audioLevelID != nil { length += head + 1 }
        return length == 0 ? 0 : 4 + (length + 3) / 4 * 4
    }

    private var isOneByte: Bool { mid.count <= 16 && (midID ?? 1) < 15 && (audioLevelID ?? 1) < 15 }

    /// Appends the block, `byteCount(withMID:)` bytes, for which the caller has checked the room. Nothing when it is empty.
    @_lifetime(out: copy out)
    func append(withMID: Bool, level: AudioLevel, to out: inout OutputRawSpan) {
        let count = byteCount(withMID: withMID)
        guard count > 0 else { return }
        let start = out.byteCount
        out.appendRTP(isOneByte ? RTPExtensionBlock.oneByteProfile : RTPExtensionBlock.twoByteProfile)
        out.appendRTP(UInt16(count / 4 - 1))
        if withMID, let midID {
            appendHead(midID, count: mid.count, to: &out)
            for byte in mid { out.append(byte, as: UInt8.self) }
        }
        if let audioLevelID {
            appendHead(audioLevelID, count: 1, to: &out)
            out.append(level.rawValue, as: UInt8.self)
        }
        while out.byteCount - start < count { out.append(0, as: UInt8.self) }
    }

    @_lifetime(out: copy out)
    private func appendHead(_ id: UInt8, count: Int, to out: inout OutputRawSpan) {
        if isOneByte {
            out.append(id << 4 | UInt8(count - 1), as: UInt8.self)
        } else {
            out.append(id, as: UInt8.self)
            out.append(UInt8(count), as: UInt8.self)
        }
    }

    // MARK: - Reading

    /// The audio level in the packet `bytes` with the header `header`; nil without one.
    package func audioLevel(of header: RTPHeader, in bytes: borrowing RawSpan) -> AudioLevel? {
        guard let audioLevelID, let value = header.extensions?.element(audioLevelID, in: bytes), !value.isEmpty else {
            return nil
        }
        return AudioLevel(rawValue: bytes[rtpByte: value.lowerBound])
    }

    /// Whether the packet `bytes` with the header `header` names another media section than ours.
    package func namesOtherSection(_ header: RTPHeader, in bytes: borrowing RawSpan) -> Bool {
        guard let midID, let value = header.extensions?.element(midID, in: bytes) else { return false }
        guard value.count == mid.count else { return true }
        for (index, byte) in mid.enumerated() where bytes[rtpByte: value.lowerBound + index] != byte { return true }
        return false
    }
}
