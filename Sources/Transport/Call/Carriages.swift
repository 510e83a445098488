internal import ICELite
import TransportLine
import TransportMedia
import TransportRuntime

/// The two carriages of a call and the one RTP stream that travels on them: who may send where, and what is taken from where.
///
/// Shared by both ends; which carriage is in force is told by the policies, never decided here.
struct Carriages: ~Copyable {
    /// The client's end: it parks what the server sends on the line before a choice, where the server drops what it gets
    /// there; and it is who repairs a broken path.
    let isClient: Bool
    let limits: TransportLimits
    var line: LineConnection?
    var path: MediaPath?
    var media: CallMedia
    var rtcp: RTCPReporter
    /// The path's figures as it was closed.
    var lastPathSnapshot: MediaPathSnapshot?
    /// One packet to work in.
    private let scratch = PacketPool(size: 1)

    /// The carriage in force; nil before the first select.
    private(set) var inForce: TransportKind?
    /// The carriage the last change closed, and when.
    private var closed: (kind: TransportKind, at: Instant)?
    /// Send on the line before a select: a call that was welcomed without a media path.
    var sendsOnLineEarly = false
    /// Both ends hear each other: the application's audio is sent and the peer's is played.
    private(set) var isActive = false
    private var isEnded = false
    private var parked: [(bytes: [UInt8], at: Instant)] = []

    /// Watches the path of an active call on it; nil before.
    var recovery: PathRecovery?
    /// Where its decisions are kept.
    var recorder: FlightRecorder?
    /// The longest silence the peer leaves, as hello or welcome has it.
    var peerLiveness: Nanoseconds?
    /// The last audio on the line while there was a bridge.
    private var lineNewest: (ssrc: SSRC, timestamp: UInt32, at: Instant)?
    /// When the last input came.
    var lastInputAt = Instant.never
    /// What others had counted as the outage began.
    var outageStart: OutageStart?
    /// A ping went out for the recovery and is not answered yet.
    var isLineAsked = false
    /// The peer, active before us, wants our audio on the line.
    private var isBridgeAwaited = false

    /// Audio on a carriage that was closed to it, or that came before a select.
    private(set) var droppedOnClosed = 0
    /// Parked packets beyond the limit.
    private(set) var parkedOverflow = 0
    /// Packets that were parked at once, at most.
    private(set) var mostParked = 0

    init(
        isClient: Bool, limits: TransportLimits, media: consuming CallMedia, rtcp: RTCPReporter
    ) {
        self.isClient = isClient
        self.limits = limits
        self.media = media
        self.rtcp = rtcp
    }

    // MARK: The choice

    /// `kind` is in force from now on. What is in flight on the other one is still welcome for a moment.
    mutating func select(_ kind: TransportKind, now: Instant) {
        if let inForce, inForce != kind { closed = (inForce, now) }
        inForce = kind
        if kind == .websocket { stopRecovery(.continued, now: now) }
    }

    /// The application's audio goes out and the peer's is played from now on.
    mutating func activate(now: Instant) {
        isActive = true
        media.startPlaying(now: now)
        lastInputAt = now
        guard inForce == .webrtc else { return }
        recovery = PathRecovery(
            isController: isClient, peerInterval: peerLiveness, window: limits.recoveryWindow.nanoseconds, now: now)
        recovery?.record(on: recorder, now: now)
        if isBridgeAwaited { recovery?.peerBridge(true, now: now) }
    }

    /// The peer says whether it wants our audio on the line. One that was active before us may say so before we watch the
    /// path, and does not say it again. False when it means nothing to this call.
    @discardableResult
    mutating func peerBridge(_ isOn: Bool, now: Instant) -> Bool {
        guard recovery == nil else {
            recovery?.peerBridge(isOn, now: now)
            return true
        }
        // The choice may have come just ahead of it.
        guard inForce != .websocket, !isEnded else { return false }
        isBridgeAwaited = isOn
        return true
    }

    /// Lets the media path go; it says close_notify first.
    mutating func closePath(now: Instant) {
        lastPathSnapshot = pathSnapshot
        path?.close(now: now)
    }

    /// Ends everything: no timer, no key, no parked packet is left.
    mutating func end(now: Instant, isFailure: Bool) {
        isEnded = true
        stopRecovery(isFailure ? .failed : .hungUp, now: now)
        media.stop()
        sayGoodbye(now: now)
        closePath(now: now)
        parked.removeAll()
        isActive = false
    }

    /// The peer learns by RTCP, too, that our stream ends. RFC 3550 §6.3.7.
    private mutating func sayGoodbye(now: Instant) {
        guard hasDestination, var packet = scratch.take(), Self.writeGoodbye(&media, &rtcp, into: &packet, now: now)
        else { return }
        path?.sendLast(&packet, now: now)
    }

    private static func writeGoodbye(
        _ media: inout CallMedia, _ rtcp: inout RTCPReporter, into packet: inout Packet, now: Instant
    ) -> Bool {
        packet.write { out in media.writeGoodbye(&rtcp, into: &out, now: now) }
    }

    // MARK: The path's description

    mutating func setRemote(
        _ remote: RemotePathDescription, flight: [[UInt8]], after: Nanoseconds?, now: Instant
    ) throws(PathError) {
        try path?.setRemote(remote, flight: flight, after: after, now: now)
    }

    /// Reads something of the path; nil without one.
    func readPath<Value>(_ body: (borrowing MediaPath) -> Value) -> Value? {
        switch path {
        case .some(let path): body(path)
        case .none: nil
        }
    }

    /// What the path can tell of itself; nil without one.
    var evidence: PathEvidence? { readPath { $0.evidence } }

    /// Bytes of texts that wait for the line.
    var queuedLineBytes: Int {
        switch line {
        case .some(let line): line.queuedBytes
        case .none: 0
        }
    }

    /// The line has something to write.
    var hasLineOutput: Bool {
        mutating get { line?.readHasOutput() ?? false }
    }

    /// What the descriptions have agreed on for the RTP stream: our payload type, header extensions, the form of reports.
    mutating func apply(_ negotiated: RemoteMedia) {
        media.setPayloadType(negotiated.opusPayloadType)
        media.setHeaderExtensions(
            RTPHeaderExtensions(
                midID: negotiated.midExtension.flatMap(UInt8.init(exactly:)), mid: negotiated.mid,
                audioLevelID: negotiated.audioLevelExtension.flatMap(UInt8.init(exactly:))))
        rtcp.isReducedSize = negotiated.reducedSizeRTCP
    }

    /// Queues a control message on the line.
    mutating func send(_ message: ControlMessage) { line?.sendText(message.encoded()) }

    /// Puts the handshake's flights on the line, in the name of our description's username fragment.
    mutating func sendFlights(as ufrag: String?) {
        guard let ufrag else { return }
        while let flight = path?.pollLineFlight() ?? nil {
            send(.dtls(ControlMessage.DTLSFlights(datagrams: flight, ufrag: ufrag)))
        }
    }

    /// Takes the peer's flights that came on the line; false when they are not in the name of its description.
    mutating func takeFlights(_ flights: ControlMessage.DTLSFlights, now: Instant) -> Bool {
        guard readPath({ $0.remoteUfrag }) == flights.ufrag else { return false }
        path?.takeLineFlight(flights.datagrams, now: now)
        return true
    }

    /// A copy of the line's last message.
    func lineBytes(_ range: Range<Int>) -> [UInt8] {
        switch line {
        case .some(let line): line.bytes(range).withUnsafeBytes { Array($0) }
        case .none: []
        }
    }

    /// Nothing has come on the line.
    var isLineUnanswered: Bool {
        switch line {
        case .some(let line): line.lastHeard == nil
        case .none: false
        }
    }

    /// The line has said its last and written it, or there is none.
    var isLineFinished: Bool {
        mutating get { line?.readIsFinished() ?? true }
    }

    // MARK: In

    /// An RTP packet came on `kind`, decrypted. True when it is the peer's audio, decodes, and counts as heard there.
    mutating func receiveAudio(_ packet: borrowing RawSpan, on kind: TransportKind, now: Instant) -> Bool {
        guard let header = media.audioHeader(of: packet) else { return false }
        if accepts(kind, now: now) {
            recovery?.audioHeard(now: now)
            if isBridging { compare(header, on: kind, now: now) }
            return media.receive(packet, header: header, on: kind == .webrtc ? .path : .line, now: now)
        }
        if inForce == nil, kind == .websocket, isClient {
            guard hasRoomToPark else {
                parkedOverflow += 1
                return false
            }
            parked.append((packet.withUnsafeBytes { Array($0) }, now))
            mostParked = max(mostParked, parked.count)
            return false
        }
        droppedOnClosed += 1
        return false
    }

    /// Of two carriages the path is the one that may be far behind: a bridge knows by the line's audio.
    private mutating func compare(_ header: RTPHeader, on kind: TransportKind, now: Instant) {
        if kind == .websocket {
            lineNewest = (header.ssrc, header.timestamp, now)
        } else if let newest = lineNewest, newest.ssrc == header.ssrc, now - newest.at < PathRecovery.announceAfter {
            // 48 kHz.
            let ahead = Int64(Int32(bitPattern: newest.timestamp &- header.timestamp)) * 62_500 / 3
            guard now - newest.at + ahead > PathRecovery.behindLine else { return }
            recovery?.behind(now: now)
        }
    }

    private var hasRoomToPark: Bool {
        #if MUTANTS
        if Mutant.current == .parkedUnbounded { return true }
        #endif
        return parked.count < limits.parkedLinePackets
    }

    /// A datagram came on `path`. True when it was the peer's audio and counts as heard on the media path.
    mutating func receiveDatagram(_ packet: inout Packet, path networkPath: NetworkPath, now: Instant) -> Bool {
        let isCheck = DatagramKind(of: packet.bytes) == .stun && recovery?.knowsPeer == false
        guard let verdict = path?.handle(&packet, path: networkPath, now: now) else { return false }
        switch verdict {
        case .rtp, .rtcp: recovery?.heard(now: now)
        case .consumed: if isCheck { recovery?.heard(now: now) }
        case .dropped: break
        }
        return take(verdict, packet.bytes, at: now)
    }

    /// Takes what a datagram that came at `arrival` turned out to be.
    private mutating func take(_ verdict: MediaPath.Verdict, _ bytes: borrowing RawSpan, at arrival: Instant) -> Bool {
        switch verdict {
        case .rtp:
            guard receiveAudio(bytes, on: .webrtc, now: arrival) else { return false }
            path?.mediaDecoded(now: arrival)
            return true
        case .rtcp:
            media.receiveReport(bytes, &rtcp, now: arrival)
            if let report = rtcp.remote { recovery?.reported(standstills: report.standstills, now: arrival) }
            return false
        case .consumed, .dropped: return false
        }
    }

    /// A binary message of the line's. True when it was the peer's audio and counts as heard there.
    mutating func receiveLinePacket(_ range: Range<Int>, now: Instant) -> Bool {
        guard var packet = scratch.take() else { return false }
        switch line {
        case .some(let line): packet.assign(line.bytes(range))
        case .none: return false
        }
        let isHeard = !isRTCP(packet.bytes) && receiveAudio(packet.bytes, on: .websocket, now: now)
        // What the line carries the path's rollover counter does not see.
        if isHeard, let heard = media.heardIndex { path?.advanceReceiver(of: heard.ssrc, to: heard.index) }
        return isHeard
    }

    /// The path has its keys: what waited for them is taken now. True when something of it was heard.
    mutating func takeParkedMedia(now: Instant) -> Bool {
        guard var packet = scratch.take() else { return false }
        var heard = false
        rtcp.start(now: now)
        while let parked = path?.nextParkedMedia(into: &packet, now: now) ?? nil {
            heard = take(parked.verdict, packet.bytes, at: parked.at) || heard
        }
        return heard
    }

    /// Takes what was parked once the WebSocket is selected. True when something of it was heard.
    mutating func takeParked(now: Instant) -> Bool {
        var heard = false
        for packet in parked where now - packet.at <= limits.closedCarriageGrace.nanoseconds {
            guard let header = media.audioHeader(of: packet.bytes.span.bytes) else { continue }
            heard = media.receive(packet.bytes.span.bytes, header: header, on: .line, now: packet.at) || heard
        }
        parked.removeAll()
        return heard
    }

    private func accepts(_ kind: TransportKind, now: Instant) -> Bool {
        guard let inForce else { return kind == .webrtc }
        if kind == inForce { return true }
        if kind == .websocket, takesBridge(now: now) { return true }
        guard let closed, closed.kind == kind else { return false }
        return now - closed.at <= limits.closedCarriageGrace.nanoseconds
    }

    // MARK: Out

    /// The path has keys and may carry media.
    var isPathSecured: Bool { readPath { $0.isSecured } ?? false }

    /// The path has keys and somewhere to send to.
    private var hasDestination: Bool {
        mutating get { path?.hasDestination ?? false }
    }

    /// Where audio goes now; nil while nothing may be sent.
    private var sendsOn: TransportKind? {
        mutating get {
            if isEnded { return nil }
            if let inForce { return inForce }
            // Packets from before there is a pair would be lost at once.
            if hasDestination { return .webrtc }
            return sendsOnLineEarly ? .websocket : nil
        }
    }

    /// Writes the next datagram into the empty `packet`, control first; audio that is due for the line goes there instead.
    mutating func pollTransmit(into packet: inout Packet, now: Instant) -> Transmit? {
        if path != nil {
            if let control = Self.pollControl(&path, into: &packet, now: now) { return control }
        }
        if let report = pollReport(into: &packet, now: now) { return report }
        return pollAudio(into: &packet, now: now)
    }

    private mutating func pollAudio(into packet: inout Packet, now: Instant) -> Transmit? {
        guard let kind = sendsOn else {
            // Nothing is due while there is nowhere to send to.
            media.stopSending()
            return nil
        }
        media.startSending(now: now)
        guard media.isPacketDue(now: now) else { return nil }
        media.setWritesExtensions(kind == .webrtc && !isBridging)
        while media.nextPacket(into: &packet, live: isActive, discard: isClient, now: now) {
            switch kind {
            case .websocket:
                line?.sendBinary(packet.bytes)
            case .webrtc:
                if bridgesNext { line?.sendBinary(packet.bytes) }
                if let transmit = path?.sendRTP(&packet, index: media.sentIndex, now: now) { return transmit }
            }
            packet.count = 0
        }
        return nil
    }

    private mutating func pollReport(into packet: inout Packet, now: Instant) -> Transmit? {
        guard now >= rtcp.nextDeadline, hasDestination else { return nil }
        guard Self.writeReport(&media, &rtcp, into: &packet, now: now) else { return nil }
        return path?.sendRTCP(&packet, now: now) ?? nil
    }

    // A closure cannot capture parts of a noncopyable value: these take them apart first.
    private static func pollControl(
        _ path: inout MediaPath?, into packet: inout Packet, now: Instant
    ) -> Transmit? {
        packet.write { out in path?.pollTransmit(into: &out, now: now) ?? nil }
    }

    private static func writeReport(
        _ media: inout CallMedia, _ rtcp: inout RTCPReporter, into packet: inout Packet, now: Instant
    ) -> Bool {
        packet.write { out in media.writeReport(&rtcp, into: &out, now: now) }
    }

    // MARK: Time

    /// Read in place: a property of an optional part is read from a copy of it all, and each packet asks.
    var nextDeadline: Instant {
        mutating get {
            var deadline = min(media.nextDeadline, line?.readDeadline() ?? .never)
            deadline = min(deadline, path?.nextDeadline ?? .never, recovery?.readDeadline() ?? .never)
            return rtcp.nextDeadline < deadline && hasDestination ? rtcp.nextDeadline : deadline
        }
    }

    mutating func handleTimeout(now: Instant) {
        line?.handleTimeout(now: now)
        path?.handleTimeout(now: now)
        media.handleTimeout(now: now)
        recovery?.handleTimeout(now: now)
    }
}
