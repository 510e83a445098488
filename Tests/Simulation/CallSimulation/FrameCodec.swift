internal import ICELite
internal import TransportMedia

/// The stand-in for Opus at one end: what it encodes are numbered frames, what it decodes shows in the PCM which one it is.
///
/// A payload is the first byte of an Opus packet of 20 ms, whether somebody speaks, the frame's number, a hash of number and
/// stream, and padding to a size that Opus has made of speech. The PCM is a constant: loud, or silent in a pause, with the
/// frame's number in a few faint samples that no fade of the jitter buffer touches.
final class FrameCodec: OpusStandIn {
    /// What a pull's PCM shows.
    enum Heard {
        case frame(id: UInt32, isFirstHalf: Bool)
        case concealed
        case noise
    }

    /// SILK, narrow band, 20 ms, one frame. RFC 6716 §3.1.
    private static let firstByte: UInt8 = 0x08
    private static let headerBytes = 10
    /// Bytes of 128 packets in a row of libopus 1.3.1 at 24 kbit/s, of speech.
    private static let sizes: [UInt8] = [
        65, 62, 58, 37, 65, 62, 63, 60, 74, 82, 69, 54, 64, 71, 66, 78, 41, 31, 48, 65, 73, 76, 74, 63, 66, 41, 55, 60,
        56, 76, 79, 52, 70, 73, 76, 64, 56, 44, 69, 66, 68, 59, 57, 66, 66, 40, 44, 64, 53, 56, 49, 35, 28, 28, 22, 22,
        22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 80, 81, 74, 52, 66, 72, 66, 55, 53, 51, 63, 74, 69, 77, 86, 69, 60, 46,
        60, 62, 63, 70, 64, 65, 72, 65, 50, 42, 52, 79, 45, 51, 74, 80, 61, 63, 58, 72, 94, 66, 62, 40, 39, 30, 55, 61,
        68, 93, 80, 64, 59, 63, 71, 72, 81, 74, 71, 71, 73, 54, 56, 55,
    ]
    private static let loudness: Int16 = 1_000
    /// Where in each half of a frame the samples begin that tell it: behind all fades.
    private static let markOffset = 240
    private static let frameMark: [Int16] = [15, 0, 15, 7, 0, 15, 3, 12]
    private static let concealmentMark: [Int16] = [0, 15, 0, 8, 15, 0, 12, 3]

    /// Tells this end's stream and its peer's apart.
    private let own: UInt32
    private let peer: UInt32
    /// Frames encoded so far: the number of the last one.
    private(set) var encodedCount: UInt32 = 0
    /// Payloads that this end's peer has not made.
    private(set) var foreignPayloads = 0
    /// Called with each frame's number as it is made.
    var onEncode: (UInt32) -> Void = { _ in }

    init(own: UInt32, peer: UInt32) {
        self.own = own
        self.peer = peer
    }

    private static func hash(_ id: UInt32, _ stream: UInt32) -> UInt32 {
        var word = (UInt64(stream) << 32 | UInt64(id)) &* 0x9E37_79B9_7F4A_7C15
        word ^= word >> 29
        return UInt32(truncatingIfNeeded: word >> 16)
    }

    func encode(_ pcm: UnsafeBufferPointer<Int16>, into room: UnsafeMutableRawBufferPointer) -> Int {
        let id = encodedCount + 1
        let size = Int(Self.sizes[Int(id) % Self.sizes.count])
        guard room.count >= size else { return 0 }
        encodedCount = id
        room[0] = Self.firstByte
        room[1] = pcm.first == 0 ? 0 : 1
        room.storeBytes(of: id.bigEndian, toByteOffset: 2, as: UInt32.self)
        room.storeBytes(of: Self.hash(id, own).bigEndian, toByteOffset: 6, as: UInt32.self)
        for index in Self.headerBytes..<size { room[index] = 0 }
        onEncode(id)
        return size
    }

    func decode(_ packet: UnsafeRawBufferPointer, into output: UnsafeMutableBufferPointer<Int16>) -> Int {
        guard packet.count >= Self.headerBytes, output.count >= AudioFormat.frameSampleCount else { return 0 }
        let id = UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: 2, as: UInt32.self))
        guard UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: 6, as: UInt32.self)) == Self.hash(id, peer) else {
            foreignPayloads += 1
            return 0
        }
        let block = UnsafeMutableBufferPointer(rebasing: output[..<AudioFormat.frameSampleCount])
        block.update(repeating: packet[1] == 0 ? 0 : Self.loudness)
        for half in 0..<2 {
            let start = half * AudioFormat.pullSampleCount + Self.markOffset
            for (index, sample) in Self.frameMark.enumerated() { block[start + index] = sample }
            for digit in 0..<8 { block[start + 8 + digit] = Int16(id >> (4 * UInt32(digit)) & 0xF) }
            block[start + 16] = Int16(half)
        }
        return AudioFormat.frameSampleCount
    }

    func conceal(into output: UnsafeMutableBufferPointer<Int16>) {
        output.update(repeating: 0)
        var start = Self.markOffset
        while start + Self.concealmentMark.count <= output.count {
            for (index, sample) in Self.concealmentMark.enumerated() { output[start + index] = sample }
            start += AudioFormat.pullSampleCount
        }
    }

    /// What 480 samples of playout are.
    static func read(_ block: UnsafeBufferPointer<Int16>) -> Heard {
        if matches(block, frameMark) {
            var id: UInt32 = 0
            for digit in 0..<8 {
                id |= UInt32(truncatingIfNeeded: block[markOffset + 8 + digit] & 0xF) << (4 * UInt32(digit))
            }
            return .frame(id: id, isFirstHalf: block[markOffset + 16] == 0)
        }
        return matches(block, concealmentMark) ? .concealed : .noise
    }

    private static func matches(_ block: UnsafeBufferPointer<Int16>, _ mark: [Int16]) -> Bool {
        for index in 0..<mark.count where block[markOffset + index] != mark[index] { return false }
        return true
    }
}
