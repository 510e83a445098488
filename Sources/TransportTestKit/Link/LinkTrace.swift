package import ICELite
internal import Synchronization

/// A `NetworkTrace` in the form that links play: the fate of a packet by the time it is sent.
package final class LinkTrace: Sendable {
    /// Microseconds above the link's delay for each 20 ms; -1 where the packet is lost.
    private let delays: [Int32]

    /// The trace called `name`, as one carriage has it; nil when there is none.
    package init?(named name: String) {
        guard let trace = NetworkTrace.named(name), let carriage = trace.packets.first?.carriage else { return nil }
        delays = trace.packets.filter { $0.carriage == carriage }.map { packet in
            packet.delayMicroseconds.map { Int32(clamping: $0) } ?? -1
        }
    }

    private static let made = Mutex<[String: LinkTrace]>([:])

    /// The trace called `name`, made once in a process; nil when there is none.
    package static func shared(_ name: String) -> LinkTrace? {
        made.withLock { made in
            if let known = made[name] { return known }
            let trace = LinkTrace(named: name)
            made[name] = trace
            return trace
        }
    }

    /// What a packet that is sent `age` after the beginning takes longer than the link's delay; nil when it is lost. The
    /// trace begins again at its end.
    package func delay(at age: Nanoseconds) -> Nanoseconds? {
        let index = Int(max(0, age) / (Nanoseconds(NetworkTrace.frameMicroseconds) * 1_000)) % delays.count
        let delay = delays[index]
        return delay < 0 ? nil : .microseconds(Int64(delay))
    }
}
