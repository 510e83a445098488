internal import ICELite
internal import Transport
internal import TransportMedia
internal import TransportRuntime
internal import TransportTestKit

/// One end of a simulated call: its machine's surroundings, and the observer's view of them.
///
/// A host may be held up (a handler that stalls, a machine that sleeps): what comes meanwhile waits and is taken in order.
class SimulatedHost: VirtualHost {
    /// Packets in hand at most.
    static let poolSize = 16
    /// Inputs that wait for a host that is held up; more are lost, as in a full socket buffer.
    static let inputLimit = 4_096
    private static let lineRoom = 16_384
    /// Bytes of a stream that are read at once, at most.
    private static let readLimit = 65_536
    /// Room of the two rings, in samples: more than comes between two readings, a machine catches up 200 ms at most.
    static let captureSamples = 16_384
    static let playoutSamples = 16_384

    /// A datagram that somebody else has seen.
    struct Overheard {
        var bytes: [UInt8]
        var path: NetworkPath
    }

    /// The timestamp that is `length` of audio before the end of their range; nil for nil.
    static func firstTimestamp(wrappingAfter length: Nanoseconds?) -> UInt32? {
        length.map { 0 &- UInt32(truncatingIfNeeded: $0 * 48 / 1_000_000) }
    }

    /// Something that came.
    enum Input {
        case datagram([UInt8], NetworkPath)
        case refusal(NetworkPath)
        case lineOpened(LineID)
        case bytes([UInt8], LineID, LineNews)
        case lineClosed(LineID, LineCut)
        case work((Instant) -> Void)
    }

    /// What bytes of the line end that the rules are measured by.
    struct LineNews {
        var hasBye = false
        /// Messages with flights of the handshake.
        var flights = 0

        static func + (first: LineNews, second: LineNews) -> LineNews {
            LineNews(hasBye: first.hasBye || second.hasBye, flights: first.flights + second.flights)
        }
    }

    let end: CallEnd
    let simulator: Simulator
    /// The call keeps it, and it keeps the hosts.
    unowned let network: VirtualNetwork
    let observer: Observer
    let codec: FrameCodec
    /// The other end's: whose frames come.
    private let peerCodec: FrameCodec
    let pool = PacketPool(size: poolSize)
    /// What the machine writes into; not of the pool, which would be asked for it with every poll.
    @exclusivity(unchecked) private var outgoing: Packet?
    private let capture: PCMRing
    private let playout: PCMRing
    var draws: Randomness
    @exclusivity(unchecked) var hostID: HostID?
    @exclusivity(unchecked) var line: LineID?
    /// The number of the line for the observer.
    var lineNumber = 0
    @exclusivity(unchecked) private(set) var hasLineEnded = false
    /// The stream is gone: nothing more goes into it, and its descriptor has been given back.
    private var isLineReset = false

    // Held up.
    @exclusivity(unchecked) private var heldUntil = Instant(nanoseconds: .min)
    @exclusivity(unchecked) private var waiting: [Input] = []
    private let stall: Nanoseconds
    private var isHandling = false

    // The line.
    @exclusivity(unchecked) private var pending: [UInt8] = []
    @exclusivity(unchecked) private var pendingBegin = 0
    @exclusivity(unchecked) private var sentTap = LineTap()
    @exclusivity(unchecked) private var tapped: [LineTap.Item] = []
    /// What this end has written and the peer has not got.
    @exclusivity(unchecked) private var underWay: [LineTap.Item] = []
    @exclusivity(unchecked) private var underWayBegin = 0
    @exclusivity(unchecked) private var bytesReceived = 0
    /// Not weak: a host that ever was that is counted in a table beside it, slowly. The call keeps both.
    unowned var peer: SimulatedHost? { didSet { peerFirstSequence = peer?.firstSequence } }
    @exclusivity(unchecked) private var peerFirstSequence: Int64?

    // Audio.
    private let firstSequence: Int64
    /// Talk with a pause of 200 ms at the end.
    private let talkPeriod: Nanoseconds
    @exclusivity(unchecked) private var capturedUntil: Instant?
    var mutedUntil = Instant(nanoseconds: .min)
    @exclusivity(unchecked) private var lastWasConcealed = false
    /// By the frame's number: 1 came on the path, 2 on the line, 3 on both.
    @exclusivity(unchecked) private var arrivedOn: [UInt8] = []
    private let block = UnsafeMutableBufferPointer<Int16>.allocate(capacity: AudioFormat.pullSampleCount)
    private static let loud = [Int16](repeating: 1_000, count: AudioFormat.frameSampleCount)
    private static let silent = [Int16](repeating: 0, count: AudioFormat.frameSampleCount)

    // Messages.
    private var messagesAccepted: UInt32 = 0

    @exclusivity(unchecked) var figures = CallFigures()
    /// Where checks of the peer's have come from.
    @exclusivity(unchecked) private var checkedFrom: [SocketAddress] = []
    /// Datagrams of nobody's, until they have come.
    var forged: [[UInt8]] = []
    /// Where the last datagram came from.
    @exclusivity(unchecked) private(set) var lastArrivalPath: NetworkPath?
    /// What this end sent last of each kind, for somebody who listens in: a check, a flight, a media packet.
    private(set) var lastCheck: Overheard?
    private(set) var lastFlight: Overheard?
    @exclusivity(unchecked) private(set) var lastMedia: Overheard?

    init(
        end: CallEnd, simulator: Simulator, network: VirtualNetwork, observer: Observer, codec: FrameCodec,
        peerCodec: FrameCodec, capture: PCMRing, playout: PCMRing, firstSequence: Int64, stall: Nanoseconds
    ) {
        self.end = end
        self.simulator = simulator
        self.network = network
        self.observer = observer
        self.codec = codec
        self.peerCodec = peerCodec
        self.capture = capture
        self.playout = playout
        self.firstSequence = firstSequence
        self.stall = stall
        draws = simulator.randomness(for: "\(end).host")
        talkPeriod = .milliseconds(1_800 + Int64(draws.next() % 800))
        block.initialize(repeating: 0)
        outgoing = PacketPool(size: 1).take()
        codec.onEncode = { [observer, end] id in observer.note(.captured(end, frame: id)) }
    }

    deinit { block.deallocate() }

    // MARK: What an end is made of

    /// The machine's own deadline.
    var machineDeadline: Instant { .never }
    var state: TransportState { .ended }
    /// The silence after which the path is suspected; nil while it is not watched.
    var suspicionThreshold: Nanoseconds? { nil }
    func machineTimeout(now: Instant) {}
    func take(_ input: Input, now: Instant) {}
    /// Polls one datagram and sends it; false when there is none.
    func sendDatagram(now: Instant) -> Bool { false }
    func lineOutput(atMost limit: Int) -> [UInt8] { [] }
    /// How many bytes at the end of the last output, of which `unwritten` were not taken, are given up.
    func withdrawLineAudio(unwritten: Int) -> Int { 0 }
    var isLineFinished: Bool { true }
    /// The machine has a line that it neither closes nor gives up.
    final var keepsLine: Bool { line != nil && !isHeld && !isLineReset && !isLineFinished }
    /// The machine reads what comes to `address`.
    func isOpen(_ address: SocketAddress) -> Bool { true }
    /// The machine has given the line up.
    var hasLostLine: Bool { false }
    /// Takes the machine's events; false when there was none.
    func pollEvents(now: Instant) -> Bool { false }
    func observe(now: Instant) {}
    func send(message: [UInt8], now: Instant) -> Bool { false }

    // MARK: Inputs

    final var nextDeadline: Instant { isHeld || !waiting.isEmpty ? heldUntil : machineDeadline }

    var isHeld: Bool { simulator.now < heldUntil }

    /// Nothing is taken until `time`.
    func hold(until time: Instant) { heldUntil = max(heldUntil, time) }

    /// What waited is taken now.
    func release() {
        mutedUntil = Instant(nanoseconds: .min)
        guard isHeld, let hostID else { return }
        heldUntil = simulator.now
        network.settle(hostID)
    }

    func handleTimeout(now: Instant) {
        guard !isHeld else { return }
        if !waiting.isEmpty {
            let inputs = waiting
            waiting.removeAll(keepingCapacity: true)
            for input in inputs {
                give(input, now: now)
                drain(into: network, now: now)
            }
        }
        machineTimeout(now: now)
        listen()
    }

    private func accept(_ input: Input, now: Instant) {
        if stall > 0, waiting.isEmpty, !isHeld { hold(until: now + Int64(draws.next() % UInt64(stall))) }
        if isHeld || !waiting.isEmpty {
            if waiting.count < Self.inputLimit { keep(input) }
            return
        }
        give(input, now: now)
    }

    /// A stream's bytes that wait are one input: a host that is run again reads what its kernel has got, all of it.
    private func keep(_ input: Input) {
        if case .bytes(let more, let line, let news) = input, case .bytes(let bytes, line, let before) = waiting.last,
            bytes.count + more.count <= Self.readLimit
        {
            waiting[waiting.count - 1] = .bytes(bytes + more, line, before + news)
        } else {
            waiting.append(input)
        }
    }

    private func give(_ input: Input, now: Instant) {
        switch input {
        // What came to a socket that is closed is nobody's.
        case .datagram(let bytes, let path): if isOpen(path.local) { noteTaken(bytes) }
        case .bytes(_, _, let news): noteTaken(news)
        case .lineClosed(_, .rst):
            isLineReset = true
            pending = []
            pendingBegin = 0
        case .refusal, .lineOpened, .lineClosed, .work: break
        }
        take(input, now: now)
    }

    func receive(datagram: [UInt8], path: NetworkPath, now: Instant) {
        noteArrival(of: datagram, path: path)
        accept(.datagram(datagram, path), now: now)
    }

    func datagramRejected(path: NetworkPath, now: Instant) { accept(.refusal(path), now: now) }

    /// The call's line is another one from now on.
    func begin(line: LineID, number: Int) {
        self.line = line
        lineNumber = number
        hasLineEnded = false
        isLineReset = false
        pending = []
        pendingBegin = 0
        sentTap = LineTap()
        underWay = []
        underWayBegin = 0
        bytesReceived = 0
    }

    func lineOpened(_ line: LineID, now: Instant) {
        guard line == self.line else { return }
        accept(.lineOpened(line), now: now)
    }

    func receive(streamBytes: [UInt8], line: LineID, now: Instant) {
        guard line == self.line else { return }
        bytesReceived += streamBytes.count
        let news = peer?.noteLineArrivals(upTo: bytesReceived) ?? LineNews()
        accept(.bytes(streamBytes, line, news), now: now)
    }

    func lineClosed(_ line: LineID, by cut: LineCut, now: Instant) {
        guard line == self.line else { return }
        accept(.lineClosed(line, cut), now: now)
    }

    /// Something that the application, or the host's system, does.
    func perform(_ work: @escaping (Instant) -> Void) {
        guard let hostID else { return }
        let now = simulator.now
        accept(.work(work), now: now)
        network.settle(hostID)
    }

    // MARK: Outputs

    func drain(into network: VirtualNetwork, now: Instant) {
        guard !isHeld else { return }
        feedCapture(now: now)
        while sendDatagram(now: now) {}
        flushLine(now: now)
        if pollEvents(now: now) {
            // What an event was answered by.
            while sendDatagram(now: now) {}
            flushLine(now: now)
        }
        observe(now: now)
    }

    /// The next datagram, as `poll` has its machine write it; nil when there is none.
    final func nextDatagram(_ poll: (inout Packet) -> Transmit?) -> (path: NetworkPath, bytes: [UInt8])? {
        guard var packet = outgoing.take() else { return nil }
        packet.count = 0
        let transmit = poll(&packet)
        let bytes = transmit == nil ? [] : packet.copiedBytes
        outgoing = consume packet
        return transmit.map { ($0.path, bytes) }
    }

    /// Notes a datagram that goes out.
    func noteSent(_ bytes: [UInt8], on path: NetworkPath) {
        var frame: UInt32?
        figures.datagramsSent += 1
        switch Datagram(bytes) {
        case .media(let sequence):
            frame = codec.frame(of: sequence, first: firstSequence)
            if end == .server, !checkedFrom.contains(path.remote) { observer.facts.mediaSentUnchecked += 1 }
            lastMedia = Overheard(bytes: bytes, path: path)
        case .report: figures.reportsSent += 1
        case .check:
            figures.checksSent += 1
            lastCheck = Overheard(bytes: bytes, path: path)
        // They are as many as the requests that ask for them.
        case .checkAnswer, .checkError: figures.answersSent += 1
        case .handshake:
            figures.handshakeSent += 1
            lastFlight = Overheard(bytes: bytes, path: path)
            if end == .client { observer.reach(.clientHello) }
        case .other: break
        }
        observer.note(.sent(end, .path(path), byteCount: bytes.count, frame: frame))
    }

    private func noteArrival(of bytes: [UInt8], path: NetworkPath) {
        if !forged.isEmpty, let index = forged.firstIndex(of: bytes) {
            forged.remove(at: index)
            return observer.note(.arrived(end, .path(path), byteCount: bytes.count, frame: nil))
        }
        lastArrivalPath = path
        var frame: UInt32?
        switch Datagram(bytes) {
        case .media(let sequence):
            frame = peerFirstSequence.flatMap { peerCodec.frame(of: sequence, first: $0) }
            if let frame { mark(frame, 1) }
        case .check: if !checkedFrom.contains(path.remote) { checkedFrom.append(path.remote) }
        case .checkAnswer, .checkError, .handshake, .report, .other: break
        }
        observer.note(.arrived(end, .path(path), byteCount: bytes.count, frame: frame))
    }

    /// The machine gets a datagram: what its reasons are measured by. What waits for a host that is held up has not come yet.
    private func noteTaken(_ bytes: [UInt8]) {
        let isUndecided = !observer.isChosen
        switch (Datagram(bytes), end, isUndecided) {
        case (.media, .server, true): observer.facts.mediaDeliveredUpBeforeChoice += 1
        case (.media, .client, true): observer.facts.mediaDeliveredDownBeforeChoice += 1
        case (.media, .server, false): observer.facts.mediaDeliveredUp += 1
        case (.media, .client, false): observer.facts.mediaDeliveredDown += 1
        case (.checkAnswer, .client, true): observer.facts.checkAnswersDelivered += 1
        case (.checkError, .client, true): observer.facts.checkErrorsDelivered += 1
        case (.handshake, .server, true): observer.facts.handshakeDeliveredUp += 1
        case (.handshake, .client, true): observer.facts.handshakeDeliveredDown += 1
        default: break
        }
    }

    /// The machine gets bytes of the line. A bye that finds the call ended, or the line given up, is read by nobody.
    private func noteTaken(_ news: LineNews) {
        let isRead = news.hasBye && state != .ended && !hasLostLine
        if end == .client {
            observer.facts.handshakeDeliveredDown += news.flights
            if isRead { observer.facts.byeDeliveredToClient = true }
        } else {
            observer.facts.handshakeDeliveredUp += news.flights
            if isRead { observer.facts.byeDeliveredToServer = true }
        }
    }

    private func mark(_ frame: UInt32, _ bit: UInt8) {
        let index = Int(frame)
        if index >= arrivedOn.count {
            arrivedOn.append(contentsOf: repeatElement(0, count: index + 64 - arrivedOn.count))
        }
        arrivedOn[index] |= bit
    }

    private func carriage(of frame: UInt32) -> AudioCarriageOrNil {
        guard Int(frame) < arrivedOn.count else { return nil }
        switch arrivedOn[Int(frame)] {
        case 1: return .path
        case 2: return .line
        default: return nil
        }
    }

    // MARK: The line

    private func flushLine(now: Instant) {
        guard let line, let hostID, !hasLineEnded, !isLineReset else { return }
        while true {
            if pendingBegin == pending.count {
                let output = lineOutput(atMost: Self.lineRoom)
                if output.isEmpty { break }
                pending = output
                pendingBegin = 0
            }
            let rest = pendingBegin == 0 ? pending : Array(pending[pendingBegin...])
            let accepted = network.write(rest, to: line, from: hostID)
            pendingBegin += accepted
            if accepted < rest.count { pending.removeLast(withdrawLineAudio(unwritten: rest.count - accepted)) }
            guard accepted > 0 else { return }
            tapped.removeAll(keepingCapacity: true)
            sentTap.receive(rest.prefix(accepted), at: now, into: &tapped)
            for item in tapped { noteWritten(item) }
            underWay += tapped
        }
        if isLineFinished {
            hasLineEnded = true
            network.close(line, from: hostID)
        }
    }

    private func noteWritten(_ item: LineTap.Item) {
        var frame: UInt32?
        switch item.content {
        case .audio(let sequence): frame = codec.frame(of: sequence, first: firstSequence)
        case .control(let word, let isOn):
            switch word {
            case "hello": observer.reach(.helloSent)
            case "select": observer.reach(.selectSent)
            case "bridge": observer.reach(isOn ? .bridgeOn : .bridgeOff)
            case "restart": observer.reach(.restartSent)
            case "fallback":
                observer.reach(.fallbackSent)
                observer.facts.wasFallbackRequested = true
            case "bye": observer.reach(.byeSent)
            default: break
            }
        case .report, .other: break
        }
        observer.note(.sent(end, .line(lineNumber), byteCount: item.byteCount, frame: frame))
        if let frame { observer.note(.handed(end, frame: frame, begunAt: item.begunAt)) }
    }

    /// The peer has got this end's stream up to byte `count`.
    private func noteLineArrivals(upTo count: Int) -> LineNews {
        var news = LineNews()
        guard let receiver = peer else { return news }
        while underWayBegin < underWay.count, underWay[underWayBegin].end <= count {
            let item = underWay[underWayBegin]
            underWayBegin += 1
            var frame: UInt32?
            switch item.content {
            case .audio(let sequence):
                frame = codec.frame(of: sequence, first: firstSequence)
                if let frame { receiver.mark(frame, 2) }
            case .control("bye", _): news.hasBye = true
            case .control("dtls", _): news.flights += 1
            case .control("selected", _): observer.reach(.selected)
            case .control, .report, .other: break
            }
            observer.note(.arrived(receiver.end, .line(lineNumber), byteCount: item.byteCount, frame: frame))
        }
        if underWayBegin > 1_024 {
            underWay.removeFirst(underWayBegin)
            underWayBegin = 0
        }
        return news
    }

    // MARK: Audio

    /// The microphone: 48 samples a millisecond while the call is active.
    private func feedCapture(now: Instant) {
        guard state == .active else { return }
        guard let until = capturedUntil else {
            capturedUntil = now
            return
        }
        guard now - until >= CallMedia.pullInterval else { return }
        let frames = (now - until) / CallMedia.pullInterval
        capturedUntil = until + frames * CallMedia.pullInterval
        guard now >= mutedUntil else { return }
        // A device that nobody read has kept its last 200 ms.
        let count = Int(min(frames, 20)) * AudioFormat.pullSampleCount
        let source = now.nanoseconds % talkPeriod < talkPeriod - .milliseconds(200) ? Self.loud : Self.silent
        source.withUnsafeBufferPointer { samples in
            var left = count
            while left > 0 {
                let step = min(left, samples.count)
                _ = capture.write(UnsafeBufferPointer(rebasing: samples[..<step]))
                left -= step
            }
        }
    }

    /// The loudspeaker: writes down what the machine has put out.
    private func listen() {
        while playout.availableToRead >= block.count {
            _ = playout.read(into: block)
            figures.pulls += 1
            figures.samplesPlayed += Int64(block.count)
            let played: Played
            switch FrameCodec.read(UnsafeBufferPointer(block)) {
            case .frame(let id, let isFirstHalf):
                played = .frame(id: id, isFirstHalf: isFirstHalf, on: carriage(of: id))
                lastWasConcealed = false
            case .concealed:
                if !lastWasConcealed {
                    noteSuspicion()
                    peer?.noteSuspicion()
                }
                played = .concealed
                lastWasConcealed = true
            // Behind a concealment noise is the rest of it.
            case .noise: played = lastWasConcealed ? .concealed : .silence
            }
            observer.note(.played(end, played))
        }
    }

    private func noteSuspicion() {
        if let suspicionThreshold { observer.note(.suspicion(end, after: suspicionThreshold)) }
    }

    // MARK: Messages

    /// The application sends a message of about `byteCount` bytes.
    func sendMessage(byteCount: Int, now: Instant) {
        let number = messagesAccepted + 1
        var message = Array(#"{"type":"note","n":\#(number),"p":""#.utf8)
        message += repeatElement(UInt8(ascii: "x"), count: max(0, byteCount - message.count - 2))
        message += Array("\"}".utf8)
        guard send(message: message, now: now) else { return }
        messagesAccepted = number
        observer.note(.accepted(end, message: number))
    }

    /// Says something on the line that the machine would not say by itself.
    func say(_ text: String) {
        perform { [unowned self] now in _ = send(message: Array(text.utf8), now: now) }
    }

    func noteMessage(_ bytes: [UInt8]) {
        let head = Array(#"{"type":"note","n":"#.utf8)
        var number: UInt32 = 0
        if bytes.starts(with: head) {
            for byte in bytes.dropFirst(head.count).prefix(while: { (0x30...0x39).contains($0) }) {
                number = number &* 10 &+ UInt32(byte - 0x30)
            }
        }
        observer.note(.delivered(end, message: number))
    }

    // MARK: Figures

    func noteFigures() {
        figures.nextDeadline = nextDeadline
        figures.lineBytesQueued = pending.count - pendingBegin
        if let line, let hostID {
            let backlog = network.backlog(of: line, from: hostID)
            figures.lineBytesUnsent = backlog.unsent
            figures.lineBytesUnacknowledged = backlog.unacknowledged
        }
        figures.poolTaken = pool.taken
        figures.poolExhausted = pool.exhausted
        figures.timesStuck = network.counters.stuckHosts
        observer.note(.figures(end, figures))
    }
}

extension FrameCodec {
    /// The frame that a packet of this end's stream carries: each frame has taken one number.
    func frame(of sequence: UInt16, first: Int64) -> UInt32? {
        let last = first + Int64(encodedCount) - 1
        let behind = Int64(Int16(bitPattern: UInt16(truncatingIfNeeded: last) &- sequence))
        let id = last - behind - first + 1
        return id >= 1 && id <= Int64(encodedCount) ? UInt32(id) : nil
    }
}
