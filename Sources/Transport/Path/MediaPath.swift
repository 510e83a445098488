package import ICELite
internal import Synchronization
package import TransportMedia
internal import TransportRuntime

/// The media path of one call: ICE, DTLS and SRTP as one machine over datagrams.
///
/// A datagram goes in with the path it came on and is told apart by its first byte (RFC 7983 §7). Control is answered by
/// `pollTransmit`; media is decrypted where it lies and handed back. On the client it runs a full, controlling ICE agent, on
/// the endpoint a lite one. DTLS flights have no address of their own: where they go is decided here.
package struct MediaPath: ~Copyable {
    /// What became of a datagram.
    package enum Verdict: Sendable, Equatable {
        /// The packet now holds a decrypted RTP packet.
        case rtp
        /// The packet now holds a decrypted RTCP compound.
        case rtcp
        /// It was for ICE or DTLS, or waits for the keys.
        case consumed
        /// It was worth nothing; counted.
        case dropped
    }

    /// What the owner should know. All else is in `evidence`.
    package enum Event: Sendable, Equatable {
        /// The peer's Finished is verified: the keys are final, and what came under them is taken now.
        case completed
        /// The peer ended the association (close_notify).
        case closedByPeer
        /// The path that sends changed.
        case selected(NetworkPath)
        /// The outstanding restart has its pair: the credentials of before are retired.
        case restarted
        /// A check sent since `probe` was answered: on the pair that was selected then, or on another one. Client only.
        case answered(isSamePair: Bool)
        /// The selected pair's local address is gone; `selected` follows where another pair takes over. Client only.
        case selectedPathLost
        /// A candidate of ours to be signalled: a STUN server has told us of it. Client only.
        case candidateFound(ICECandidate)
        /// Media authenticated that came from an address no check has: the peer should check. Endpoint only.
        case checkWanted
        /// `localUfrags` has changed. Endpoint only.
        case ufragsChanged
    }

    /// Parked SRTP packets that came before the keys.
    package static let parkedMediaLimit = 50
    /// How long a parked packet is kept.
    package static let parkedFor = Nanoseconds.seconds(1)
    /// Pairs whose first check is followed by the handshake's flight.
    package static let flightPathLimit = 3
    /// A tuple whose media authenticated this short ago belongs to the call.
    package static let tupleKept = Nanoseconds.seconds(5)
    /// The round trip while nothing has told it.
    static let assumedRoundTrip = Nanoseconds.milliseconds(50)
    /// The longest round trip that is believed of the line: the peer may have taken its time.
    static let signallingRoundTripLimit = Nanoseconds.milliseconds(500)
    /// Least time between two `checkWanted`.
    package static let checkWantedInterval = Nanoseconds.milliseconds(500)

    /// Keeps this value, and the calls made of it, in memory: one that could be loaded is copied, kilobytes of it, whenever a
    /// property of it is read.
    private let inMemory = Atomic<Bool>(false)

    struct Parked {
        var path: NetworkPath
        var bytes: [UInt8]
        var at: Instant
    }

    var full: ICEFullAgent?
    var lite: ICELiteAgent?
    var dtls: DTLSSession?
    var srtp: SRTPSession?
    /// A client has its keys before the peer's Finished: until then what comes is parked.
    var areKeysFinal = false
    var gathering: ServerReflexiveGathering
    let certificate: DTLSCertificate
    let options: HandshakeOptions
    let localSSRC: UInt32
    var remoteSSRC: UInt32?
    /// Payload types whose packets may teach an SSRC that is not announced.
    var payloadTypes: [UInt8] = []
    /// What the first description said, and a restart's must repeat.
    var identity: RemoteIdentity?
    /// Where flights go while no pair is selected.
    var flightPaths: [NetworkPath] = []
    /// Where the flight that waits for its answer has gone.
    var flightSentTo: [NetworkPath] = []
    /// Our flight that has gone, or goes, on the line; nil while flights do not travel there.
    var lastLineFlight: [[UInt8]]?
    /// It waits for the line.
    var isLineFlightDue = false
    /// The peer's username fragment of its first description, which its flights on the line name.
    var remoteUfrag: String?
    /// What the exchange of descriptions took: the round trip until a check has measured it.
    var signallingRoundTrip: Nanoseconds?
    let madeAt: Instant
    var outbox: [Parked] = []
    /// The goodbye of our stream, encrypted and charged; goes ahead of close_notify.
    var farewell: Parked?
    var parkedMedia: [Parked] = []
    var events: [Event] = []
    var isClosed = false
    var lastMedia: (path: NetworkPath, at: Instant)?
    var checkWantedAt: Instant?

    /// What the path can tell of itself, for the policy.
    package internal(set) var evidence = PathEvidence()
    /// The pair that was selected as probing began.
    var probedPath: NetworkPath?
    /// The selected pair was lost, and none was there to take over: the next one is an answered check's.
    var awaitsPair = false
    /// What came and went, and what was dropped.
    package internal(set) var statistics = MediaPathStatistics()

    // MARK: Making one

    /// The client's end: a full, controlling agent.
    package init(
        controlling credentials: ICECredentials, certificate: DTLSCertificate, localSSRC: UInt32,
        options: HandshakeOptions = HandshakeOptions(), randomness: Randomness
    ) {
        var randomness = randomness
        full = ICEFullAgent(role: .controlling, credentials: credentials, randomness: randomness)
        lite = nil
        gathering = ServerReflexiveGathering(randomness: randomness.split("gathering"))
        self.certificate = certificate
        self.options = options
        self.localSSRC = localSSRC
        madeAt = .never
    }

    /// The endpoint's end: a lite agent that answers the offer `remote`, always as the passive side of DTLS.
    ///
    /// - Parameter asksForAdmission: the owner settles `admissionWanted`; else every tuple is admitted.
    /// - Throws: `PathError` when the handshake cannot be prepared.
    package init(
        lite credentials: ICECredentials, remote: RemotePathDescription, certificate: DTLSCertificate,
        localSSRC: UInt32, options: HandshakeOptions = HandshakeOptions(),
        randomness: Randomness, asksForAdmission: Bool = false, now: Instant
    ) throws(PathError) {
        var randomness = randomness
        full = nil
        lite = ICELiteAgent(
            credentials: credentials, peerCredentials: remote.credentials, randomness: randomness,
            asksForAdmission: asksForAdmission)
        gathering = ServerReflexiveGathering(randomness: randomness.split("gathering"))
        self.certificate = certificate
        self.options = options
        self.localSSRC = localSSRC
        remoteSSRC = remote.ssrc
        remoteUfrag = remote.credentials.ufrag
        payloadTypes = remote.payloadTypes
        identity = RemoteIdentity(remote, towardsPassive: true)
        madeAt = now
        try startHandshake(as: .server, with: remote.fingerprints, now: now)
    }

    /// Applies the server's answer: checks begin. Client only.
    ///
    /// - Parameters:
    ///   - flight: the datagrams that came with it, the answer to `offerHello`.
    ///   - after: what the answer took.
    package mutating func setRemote(
        _ remote: RemotePathDescription, flight: [[UInt8]] = [], after: Nanoseconds? = nil, now: Instant
    ) throws(PathError) {
        remoteSSRC = remote.ssrc
        remoteUfrag = remote.credentials.ufrag
        payloadTypes = remote.payloadTypes
        identity = RemoteIdentity(remote)
        signallingRoundTrip = after.map { min($0, Self.signallingRoundTripLimit) }
        try continueHandshake(with: remote, flight: flight, now: now)
        apply(remote, now: now)
    }

    // MARK: What it knows

    /// Where media goes now; nil while no pair is selected.
    package var selectedPath: NetworkPath? { full?.selectedPath ?? lite?.selectedPath }
    /// Whether a check has authenticated on `path`: the endpoint's tuple table is made of these.
    package func isAuthenticated(_ path: NetworkPath) -> Bool { lite?.isAuthenticated(path) ?? false }
    /// Whether media may be sent.
    package var isSecured: Bool { srtp != nil && !isClosed }
    /// The DTLS association's figures for reports; nil before there is one.
    package var dtlsStatistics: DTLSStatistics? {
        switch dtls {
        case .some(let session): session.statistics
        case .none: nil
        }
    }
    /// Whether our half of the handshake is the server's; false before there is one.
    package var isHandshakeServer: Bool {
        switch dtls {
        case .some(let session): session.role == .server
        case .none: false
        }
    }
    /// What the ICE agent counts.
    package var iceCounters: ICECounters { full?.counters ?? lite?.counters ?? ICECounters() }

    /// The next event; nil when there is none.
    package mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    // MARK: Time

    package var nextDeadline: Instant {
        mutating get {
            guard !isClosed else { return .never }
            let agent = min(full?.readDeadline() ?? .never, lite?.readDeadline() ?? .never)
            return min(agent, dtls?.readDeadline() ?? .never, gathering.nextDeadline)
        }
    }

    package mutating func handleTimeout(now: Instant) {
        guard !isClosed else { return }
        full?.handleTimeout(now: now)
        lite?.handleTimeout(now: now)
        dtls?.handleTimeout(now: now)
        gathering.handleTimeout(now: now)
        pump(now: now)
    }

    /// Ends the path: the peer is told by close_notify, then nothing is sent or taken any more, and the keys are gone.
    package mutating func close(now: Instant) {
        guard !isClosed else { return }
        outbox.removeAll()
        dtls?.close()
        pumpFlights(now: now)
        // What says goodbye is charged like all else; then there is no agent any more to ask.
        let last = outbox
        outbox.removeAll()
        for datagram in last where authorize(datagram.bytes.count, to: datagram.path) { outbox.append(datagram) }
        isClosed = true
        srtp = nil
        dtls = nil
        full = nil
        lite = nil
        gathering.cancel()
        parkedMedia.removeAll()
    }

    /// Moves what happened inside between ICE, DTLS and SRTP, until nothing moves any more.
    mutating func pump(now: Instant) {
        guard !isClosed else { return }
        while let event = full?.pollEvent() { handle(event, now: now) }
        while let event = lite?.pollEvent() { handle(event, now: now) }
        while !gathering.isFinished, let event = gathering.pollEvent() { handle(event, now: now) }
        pumpFlights(now: now)
        while let event = dtls?.pollEvent() { handle(event, now: now) }
        updateEvidence()
    }
}
