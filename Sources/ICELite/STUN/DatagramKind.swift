/// What a datagram on a media socket is, by its first byte (RFC 7983 §7) and the least length of its kind.
public enum DatagramKind: Hashable, Sendable {
    /// 0…3: STUN, 20 bytes or more.
    case stun
    /// 20…63: a DTLS record, 13 bytes or more.
    case dtls
    /// 128…191: RTP, or RTCP with its 8 bytes.
    case media
    /// Anything else: ZRTP (16…19), TURN channels (64…79), what is no protocol of ours, too short or empty.
    case other

    /// Tells `bytes` apart. Nothing else of it is looked at. Does not allocate.
    public init(of bytes: borrowing RawSpan) {
        let count = bytes.byteCount
        guard count > 0 else {
            self = .other
            return
        }
        switch bytes.bigEndian(at: 0, as: UInt8.self) {
        case 0...3: self = count >= STUNMessage.headerSize ? .stun : .other
        case 20...63: self = count >= 13 ? .dtls : .other
        case 128...191: self = count >= 8 ? .media : .other
        default: self = .other
        }
    }
}
