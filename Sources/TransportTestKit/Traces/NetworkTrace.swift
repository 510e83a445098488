/// What a network did to 120 s of audio packets, by name: the same trace in a unit test, a benchmark and elsewhere.
///
/// A packet is sent every 20 ms. A trace stands for one direction. Delays are above the shortest delay of the path: add
/// a base of your choice. Reordering is what the delays say. Generated, not recorded, in integer arithmetic, so that
/// `checkValue` is the same wherever the trace is made.
public struct NetworkTrace: Hashable, Sendable {
    /// Which of a call's two carriages a packet travels on.
    public enum Carriage: String, Hashable, Sendable {
        /// The media path: RTP in datagrams.
        case path = "u"
        /// The call line: RTP in a byte stream.
        case line = "l"
    }

    /// One packet's fate.
    public struct Packet: Hashable, Sendable {
        /// Which 20 ms of the stream it is, from 0.
        public let index: Int
        /// What it travels on.
        public let carriage: Carriage
        /// Microseconds above the path's shortest delay; nil when it never arrives.
        public let delayMicroseconds: Int?

        /// When it is sent, since the stream's beginning.
        public var sendTime: Duration { .microseconds(index * NetworkTrace.frameMicroseconds) }
        /// When it arrives over a path whose shortest delay is 0; nil when it never does.
        public var arrivalTime: Duration? { delayMicroseconds.map { sendTime + .microseconds($0) } }
    }

    /// Frames a trace has.
    public static let frameCount = 6_000
    /// Microseconds from one frame to the next.
    public static let frameMicroseconds = 20_000

    /// The trace's name.
    public let name: String
    /// The packets in the order in which they are sent. `bridge` has two for a frame that travels on both carriages.
    public let packets: [Packet]

    /// The names there are.
    public static var names: [String] { TraceGenerator.all.map(\.name) }

    /// The trace called `name`, generated anew; nil when there is none.
    public static func named(_ name: String) -> NetworkTrace? {
        guard let generator = TraceGenerator.all.first(where: { $0.name == name }) else { return nil }
        var random = TraceRandom(name: name)
        return NetworkTrace(name: name, packets: generator.make(&random))
    }

    /// The trace as text, a line a packet: `index carriage delay`, where a delay of `-` means that it never arrives.
    public var text: String {
        var text = ""
        text.reserveCapacity(packets.count * 14)
        for packet in packets {
            text += "\(packet.index) \(packet.carriage.rawValue) \(packet.delayMicroseconds.map(String.init) ?? "-")\n"
        }
        return text
    }

    /// FNV-1a, 64 bit, of `text`.
    public var checkValue: UInt64 { TraceRandom.hash(text.utf8) }

    /// Packets that never arrive, in percent of all.
    public var lossPercent: Double {
        packets.isEmpty ? 0 : 100 * Double(packets.count { $0.delayMicroseconds == nil }) / Double(packets.count)
    }
}
