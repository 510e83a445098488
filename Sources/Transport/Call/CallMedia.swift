package import ICELite
package import TransportMedia
package import TransportRuntime

/// One call's audio, whatever carries it: what is captured becomes RTP, RTP becomes what is played.
///
/// One SSRC, one sequence space and one timestamp space a direction for the whole call; the carriage is somebody else's
/// business. Confined to the call's owner; the application's audio threads meet it at the two rings.
package struct CallMedia: ~Copyable {
    /// Samples of a packet: 20 ms at 48 kHz.
    package static let packetSamples = 960
    /// Time between packets.
    package static let packetInterval = Nanoseconds.milliseconds(20)
    /// Samples of a pull: 10 ms at 48 kHz.
    package static let pullSamples = 480
    /// Time between pulls.
    package static let pullInterval = Nanoseconds.milliseconds(10)
    /// A wake-up this late skips what it missed instead of sending it in one burst: at most 200 ms ahead on the line.
    package static let catchUpLimit = Nanoseconds.milliseconds(200)

    private var sender: AudioSender
    private var receiver: AudioReceiver
    private let capture: PCMRing
    private let playout: PCMRing
    private let samples: UnsafeMutableBufferPointer<Int16>
    private var nextPacketAt = Instant.never
    /// When the packet that was not sent any more was due.
    private var stoppedAt: Instant?
    private var nextPullAt = Instant.never
    /// Captured samples that were too few for a frame at the last tick.
    private var leftWaiting = 0
    /// The stream that is heard and its numbering, on whatever carriage.
    private var heard: (ssrc: SSRC, numbers: SequenceNumberTracker)?

    /// What the peer's header extension told of the last packet's loudness; nil before one that does.
    package private(set) var remoteAudioLevel: AudioLevel?
    /// Packets that named another media section than the call's.
    package private(set) var foreignSections: Int64 = 0
    /// The peer said goodbye to its stream. That ends nothing here: the call line does.
    package private(set) var remoteGoodbye = false

    /// - Parameters:
    ///   - sender: our stream. Taken over.
    ///   - receiver: the peer's stream. Taken over.
    ///   - capture: 48 kHz mono the application writes; the call reads.
    ///   - playout: 48 kHz mono the call writes; the application reads.
    package init(
        sender: consuming AudioSender, receiver: consuming AudioReceiver, capture: PCMRing, playout: PCMRing
    ) {
        self.sender = sender
        self.receiver = receiver
        self.capture = capture
        self.playout = playout
        samples = .allocate(capacity: Self.packetSamples)
        samples.initialize(repeating: 0)
    }

    deinit { samples.deallocate() }

    /// From now on a packet is due every 20 ms.
    package mutating func startSending(now: Instant) {
        guard nextPacketAt == .never else { return }
        if let stoppedAt { skip(now - stoppedAt) }
        stoppedAt = nil
        nextPacketAt = now
    }

    /// No packet is due any more, until sending starts again.
    package mutating func stopSending() {
        if nextPacketAt != .never { stoppedAt = nextPacketAt }
        nextPacketAt = .never
    }

    /// Packets that were due in `time` were not sent: what comes now is that much later (RFC 3550 §5.1).
    private mutating func skip(_ time: Nanoseconds) {
        let packets = max(0, time) / Self.packetInterval
        if packets > 0 { sender.skip(samples: Int(clamping: packets) &* Self.packetSamples) }
    }

    /// From now on 10 ms are played every 10 ms.
    package mutating func startPlaying(now: Instant) {
        if nextPullAt == .never { nextPullAt = now }
    }

    /// Nothing is sent or played any more.
    package mutating func stop() {
        stopSending()
        nextPullAt = .never
    }

    package var nextDeadline: Instant { min(nextPacketAt, nextPullAt) }

    /// Whether `nextPacket` has one to write.
    package func isPacketDue(now: Instant) -> Bool { now >= nextPacketAt }

    /// Writes the packet that is due into `packet`; false when none is.
    ///
    /// - Parameter live: take the capture ring's audio. Otherwise silence is sent, and what was captured meanwhile is left
    ///   (`discard` false) or thrown away.
    package mutating func nextPacket(into packet: inout Packet, live: Bool, discard: Bool, now: Instant) -> Bool {
        guard now >= nextPacketAt else { return false }
        if now - nextPacketAt > Self.catchUpLimit {
            skip(now - nextPacketAt)
            nextPacketAt = now
        }
        nextPacketAt = nextPacketAt + Self.packetInterval
        if !live, discard { _ = capture.discardAll() }
        guard live else { return sender.next(pcm: nil, into: &packet, now: now) }
        let waiting = capture.availableToRead
        defer { leftWaiting = waiting }
        // A frame that is not whole yet waits for its rest; one that does not grow any more is the last of its kind.
        guard waiting >= samples.count || (waiting > 0 && waiting == leftWaiting) else {
            return sender.next(pcm: nil, into: &packet, now: now)
        }
        let count = capture.read(into: samples)
        if count < samples.count { samples[count...].update(repeating: 0) }
        return sender.next(pcm: UnsafeBufferPointer(samples), into: &packet, now: now)
    }

    /// Plays what is due.
    package mutating func handleTimeout(now: Instant) {
        guard now >= nextPullAt else { return }
        #if MUTANTS
        if Mutant.current == .deadlineInThePastAfterAJump, now - nextPullAt > Self.catchUpLimit {
            return nextPullAt = nextPullAt + Self.pullInterval
        }
        #endif
        if now - nextPullAt > Self.catchUpLimit { nextPullAt = now }
        let block = UnsafeMutableBufferPointer(rebasing: samples[..<Self.pullSamples])
        while nextPullAt <= now {
            _ = receiver.pull(into: block, now: nextPullAt)
            _ = playout.write(UnsafeBufferPointer(block))
            nextPullAt = nextPullAt + Self.pullInterval
        }
    }

    /// This process did not run for `length` until `now`.
    package mutating func noteStandstill(for length: Nanoseconds, now: Instant) {
        receiver.noteStandstill(for: length, now: now)
    }

    /// Takes an RTP packet that came on an open carriage. True when it is audio that decodes.
    package mutating func receive(
        _ packet: borrowing RawSpan, header: RTPHeader, on carriage: AudioCarriage, now: Instant
    ) -> Bool {
        if heard?.ssrc != header.ssrc { heard = (header.ssrc, SequenceNumberTracker()) }
        heard?.numbers.update(header.sequenceNumber)
        if let level = sender.headerExtensions.audioLevel(of: header, in: packet) { remoteAudioLevel = level }
        switch receiver.receive(packet, header: header, carriage: carriage, now: now) {
        case .audio(let verdict): return verdict != .invalid
        case .foreignPayloadType, .empty: return false
        }
    }

    /// The header of `packet` if it is audio of the call's payload type and media section; nil for everything else.
    package mutating func audioHeader(of packet: borrowing RawSpan) -> RTPHeader? {
        do throws(RTPError) {
            let header = try RTPHeader(parsing: packet)
            guard header.payloadType == receiver.payloadType, !header.payload.isEmpty else { return nil }
            guard !sender.headerExtensions.namesOtherSection(header, in: packet) else {
                foreignSections += 1
                return nil
            }
            return header
        } catch {
            return nil
        }
    }

    /// The payload type of the stream that comes in and of the one that goes out: the answer's, or hello's.
    package mutating func setPayloadType(_ payloadType: PayloadType) {
        sender.payloadType = payloadType
        receiver.payloadType = payloadType
    }

    /// Whether the packets to come are for the media path: only there they carry header extensions.
    package mutating func setWritesExtensions(_ writes: Bool) { sender.writesExtensions = writes }

    /// The header extensions that offer and answer agreed on: written from the next packet on, and looked for.
    package mutating func setHeaderExtensions(_ extensions: RTPHeaderExtensions) {
        sender.headerExtensions = extensions
    }

    /// The 48-bit number of the packet written last: its sequence number and the wraps before it.
    package var sentIndex: UInt64 { UInt64(max(0, sender.nextSequence.rawValue - 1)) }

    /// The 48-bit number of the newest packet heard and the stream it is of; nil before the first.
    package var heardIndex: (ssrc: SSRC, index: UInt64)? {
        guard let heard, let highest = heard.numbers.highest else { return nil }
        return (heard.ssrc, UInt64(max(0, highest.rawValue)))
    }

    /// Writes the RTCP report that is due on the media path; false when none is.
    package mutating func writeReport(
        _ reporter: inout RTCPReporter, into out: inout OutputRawSpan, now: Instant
    ) -> Bool {
        do throws(RTPError) {
            return try reporter.pollReport(
                into: &out, sent: sender.counters, reception: &receiver.pathReception, now: now)
        } catch {
            return false
        }
    }

    /// Writes the last report with a goodbye of our stream; false when nothing was ever sent, or without room.
    package mutating func writeGoodbye(
        _ reporter: inout RTCPReporter, into out: inout OutputRawSpan, now: Instant
    ) -> Bool {
        do throws(RTPError) {
            return try reporter.writeGoodbye(
                into: &out, sent: sender.counters, reception: &receiver.pathReception, now: now)
        } catch {
            return false
        }
    }

    /// Takes a decrypted RTCP compound.
    package mutating func receiveReport(_ bytes: borrowing RawSpan, _ reporter: inout RTCPReporter, now: Instant) {
        let news = reporter.handle(bytes, reception: &receiver.pathReception, now: now)
        // A peer that reports on the stream has found its media section.
        if news.isAboutUs { sender.writesMID = false }
        if news.saidGoodbye { remoteGoodbye = true }
    }

    /// A copy of the receiver's figures.
    package var inbound: AudioReceiverStatistics { receiver.statistics }
    /// A copy of the sender's figures.
    package var outbound: RTPSenderCounters { sender.counters }
}
