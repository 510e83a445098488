internal import ICELite
internal import Transport
import TransportRuntime

/// Both ends of a protected stream and a packet that goes between them. A class, since the sessions are `~Copyable` and
/// a benchmark's closure outlives its making.
final class SRTPBench {
    static let payloadByteCount = 160
    private static let ssrc: UInt32 = 0x1234_5678

    private let pool = PacketPool(size: 4)
    private let payload = [UInt8](repeating: 0x5A, count: SRTPBench.payloadByteCount)
    private var sender: SRTPSession
    private var receiver: SRTPSession
    private var sequence: UInt16 = 0
    private(set) var failures = 0

    init(_ profile: SRTPProfile) throws(SRTPError) {
        let length = profile.keyLength + profile.saltLength
        let (ours, theirs) = ([UInt8](repeating: 1, count: length), [UInt8](repeating: 2, count: length))
        sender = try SRTPSession(keys: SRTPKeys(profile: profile, local: ours, remote: theirs), localSSRC: Self.ssrc)
        receiver = try SRTPSession(keys: SRTPKeys(profile: profile, local: theirs, remote: ours), localSSRC: 1)
        receiver.addRemoteSSRC(Self.ssrc)
    }

    /// Fills a packet, protects it and, if asked to, unprotects it again.
    func turn(unprotects: Bool) {
        guard var packet = pool.take() else { return }
        sequence &+= 1
        let header = RTPHeader(
            marker: false, payloadType: PayloadType(maskingHeaderByte: 111), sequenceNumber: SequenceNumber(sequence),
            timestamp: UInt32(sequence) &* 960, ssrc: SSRC(Self.ssrc))
        packet.write { out in
            try? header.encode(into: &out)
            for byte in payload { out.append(byte, as: UInt8.self) }
        }
        if sender.protectRTP(&packet) != .ok { failures += 1 }
        if unprotects, receiver.unprotectRTP(&packet) != .ok { failures += 1 }
    }
}
