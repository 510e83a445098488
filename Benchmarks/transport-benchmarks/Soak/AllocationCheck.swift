internal import CAllocationCounter
internal import ICELite
internal import Transport
internal import TransportMedia
internal import TransportRuntime

/// `transport-benchmarks allocations`: an active call on the media path allocates nothing of ours for a packet. What libsrtp2
/// allocates by itself is measured in the same process, without us, and taken off.
enum AllocationCheck {
    /// How long the call is counted, in its own time.
    private static let length = Nanoseconds.seconds(60)
    /// Packets of the baseline.
    private static let baselinePackets = 1_000

    /// Runs it and returns the exit code: 0 when nothing is allocated, 1 when something is, 2 when it cannot be counted.
    static func run() -> Int32 {
        guard allocation_count() >= 0 else {
            say("error: allocations are not counted in a sanitizer build", toErrors: true)
            return 2
        }
        guard let call = try? CallPair(wanted: .auto), let raw = baseline(), let socket = socketAllocations() else {
            say("error: the call, libsrtp2 or a socket cannot be had", toErrors: true)
            return 71
        }
        call.run(for: .seconds(5))
        guard call.isActive(on: .webrtc) else {
            say("error: the call is not active on WebRTC", toErrors: true)
            return 1
        }
        call.clearTallies()
        call.run(for: length)
        let tallies = call.tallies
        var failures = 0
        func judge(_ what: String, _ tally: CallPair.Tally, less own: Double) {
            let ours = tally.perStep - own
            let isGood = tally.steps > 0 && ours == 0
            failures += isGood ? 0 : 1
            say(
                "\(isGood ? "ok  " : "FAIL") \(what): \(tally.perStep) allocations, \(own) of them libsrtp2's, "
                    + "over \(tally.steps)", toErrors: false)
        }
        judge("an audio packet out", tallies.audioOut, less: raw.protect)
        judge("an audio packet in", tallies.audioIn, less: raw.unprotect)
        judge("a wake-up that plays", tallies.wakeUp, less: 0)
        judge("asking in vain", tallies.emptyPoll, less: 0)
        judge("a datagram through a socket", socket, less: 0)
        say(
            "     reports and checks, not judged: \(tallies.control.perStep), over \(tallies.control.steps)",
            toErrors: false)
        return failures == 0 ? 0 : 1
    }

    /// What one packet costs in libsrtp2 alone, with the profile of our calls.
    private static func baseline() -> (protect: Double, unprotect: Double)? {
        guard let bench = RawSRTPBench(.aeadAES128GCM) else { return nil }
        func count(_ unprotects: Bool) -> Double {
            bench.turn(unprotects: unprotects)
            let start = allocation_count()
            for _ in 0..<baselinePackets { bench.turn(unprotects: unprotects) }
            return Double(allocation_count() - start) / Double(baselinePackets)
        }
        let protect = count(false)
        let both = count(true)
        return bench.failures == 0 ? (protect, both - protect) : nil
    }

    /// Datagrams through a socket to itself, one at a time and in batches.
    private static func socketAllocations() -> CallPair.Tally? {
        guard let socket = try? UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0)) else { return nil }
        let pool = PacketPool(size: 64)
        let bytes = [UInt8](repeating: 7, count: 180)
        var tally = CallPair.Tally()
        var received = 0
        for _ in 0..<baselinePackets {
            let start = allocation_count()
            _ = socket.send(bytes.span.bytes, to: socket.localAddress)
            received += socket.receive(into: pool) { _, _, _ in }
            tally.add(allocation_count() - start)
        }
        return received == baselinePackets ? tally : nil
    }
}
