import COpenSSL
package import ICELite
import TransportRuntime

/// One DTLS 1.2 association that makes SRTP keys (RFC 5764), as a machine without clock, socket or address.
///
/// A flight is a list of datagrams; whether they travel over UDP or inside a signalling message is the owner's business.
/// After each input drain `pollDatagram` and `pollEvent` until both return nil. Feed datagrams also after completion: a peer
/// that lost our last flight asks again.
///
/// OpenSSL's timer decides nothing: it is made to write each flight's repeats in advance, and our deadline sends them.
package struct DTLSSession: ~Copyable {
    /// Datagrams longer than this are no handshake's.
    package static let maximumIncomingDatagram = 4_096
    /// Datagrams that may wait to be polled; the oldest go first.
    package static let maximumQueuedDatagrams = 32
    /// Shortest first retransmission interval.
    package static let minimumRetransmission: Nanoseconds = .milliseconds(50)
    /// Longest retransmission interval.
    package static let maximumRetransmission: Nanoseconds = .milliseconds(1_600)
    /// Encrypted records that are taken before the handshake is over: OpenSSL keeps each that comes ahead of its time, in
    /// 17 KB. An honest peer sends one with each transmission of its last flight.
    package static let maximumEarlyRecords = 24
    /// How long an alert in the clear is kept in mind at least, while something valid may contradict it.
    package static let plaintextAlertPatience: Nanoseconds = .milliseconds(500)
    /// Least time between two answers to a peer that still asks for our last flight, and how many there are.
    package static let lastFlightResendInterval: Nanoseconds = .milliseconds(20)
    package static let maximumLastFlightResends = 12

    enum Phase {
        case idle
        case handshaking
        /// OpenSSL has finished; the keys may still wait for the peer's fingerprint.
        case established
        case ended
    }

    /// Our half of the handshake.
    package let role: DTLSRole
    /// Counts and facts.
    package internal(set) var statistics = DTLSStatistics()

    /// OpenSSL's objects are for one thread at a time. `deinit` does not ask: it comes behind every use.
    private let owner = OwningThread()
    let box: OpaquePointer
    /// Kept alive for as long as OpenSSL works with its context.
    let certificate: DTLSCertificate
    let maximumDatagram: Int
    var phase = Phase.idle
    var current: DTLSFlight?
    var queue: [[UInt8]] = []
    var events: [DTLSEvent] = []
    var flightsSeen: UInt32 = 0
    var messagesSeen: UInt32 = 0
    var keysReported = false
    var completionReported = false

    /// When the current flight is sent again, `.never` while it is not armed.
    var retransmissionDeadline = Instant.never
    var retransmissionInterval: Nanoseconds = 0
    var repeatsSent = 0
    /// The owner's estimate, from the last arming; half of the interval it gave.
    var roundTrip: Nanoseconds = 0

    /// A handshake message or ChangeCipherSpec was taken from a datagram of the line.
    package private(set) var flightCameByLine = false
    var heldAlert: UInt8 = 0
    var alertDeadline = Instant.never
    var lastFlightResentAt: Instant?
    /// Encrypted records taken before the handshake was over.
    private var earlyRecords = 0
    /// The alert with which we gave the handshake up: for the call line, where the peer takes none by UDP any more.
    package private(set) var lastWords: [[UInt8]] = []

    /// Makes the session; nothing happens before `start`.
    ///
    /// - Parameters:
    ///   - profiles: SRTP profiles we accept, most wanted first. The server's order decides.
    ///   - maximumDatagram: Bytes of UDP payload a flight's datagrams have at most, 256…1,500.
    /// - Throws: `DTLSError`.
    package init(
        role: DTLSRole, certificate: DTLSCertificate,
        profiles: [SRTPProfile] = [.aeadAES128GCM, .aes128CMHMACSHA1_80], maximumDatagram: Int = 1_200
    ) throws(DTLSError) {
        precondition((256...1_500).contains(maximumDatagram), "DTLS datagrams have 256…1,500 bytes")
        guard !profiles.isEmpty else { throw .noProfiles }
        let names = profiles.map(\.opensslName).joined(separator: ":")
        guard
            let box = dtls_box_new(certificate.identity, role == .server ? 1 : 0, UInt32(maximumDatagram), names)
        else { throw .openSSL }
        self.box = box
        self.role = role
        self.certificate = certificate
        self.maximumDatagram = maximumDatagram
    }

    deinit { dtls_box_free(box) }

    // MARK: - Inputs

    /// Begins. At the client the ClientHello becomes `flight` and pollable; the server waits. A second call does nothing.
    package mutating func start(now: Instant) {
        assertOwner()
        guard phase == .idle else { return }
        phase = .handshaking
        if role == .client { absorb(dtls_box_step(box, nil, 0), now: now) }
    }

    /// Says which certificates the peer may show. One call counts: what was verified stays verified, and a list that came
    /// stays in force. An empty list is no list. RFC 8122 §5: of several, those by the strongest hash decide.
    package mutating func setRemoteFingerprints(_ fingerprints: [CertificateFingerprint]) {
        assertOwner()
        guard !hasFingerprints, !fingerprints.isEmpty, phase != .ended else { return }
        hasFingerprints = true
        for fingerprint in fingerprints.prefix(Int(DTLS_BOX_MAX_FINGERPRINTS)) {
            _ = dtls_box_add_fingerprint(box, fingerprint.shimHash, fingerprint.bytes, fingerprint.bytes.count)
        }
        if phase != .idle { report() }
    }
    var hasFingerprints = false

    /// Takes one datagram that begins with a byte of 20…63.
    ///
    /// - Parameter carriage: What it came by. An alert in the clear counts at once by the line; over UDP it waits for a
    ///   contradiction, and is nothing once a flight came by the line: who speaks there gives up there.
    package mutating func handle(
        _ datagram: borrowing RawSpan, carriage: DTLSCarriage = .udp, now: Instant
    ) -> DTLSVerdict {
        assertOwner()
        guard phase == .handshaking || phase == .established else { return drop(.ended) }
        guard datagram.byteCount <= Self.maximumIncomingDatagram else { return drop(.malformed) }
        // Behind a client's Finished the server has but ChangeCipherSpec to say in the clear: what else comes there, whoever
        // wrote it, must not end a handshake whose keys are in use.
        let scan = DTLSRecordScan(
            datagram, isAuthentic: carriage == .line, expectsMessages: role == .server || !keysReported,
            encryptedLimit: phase == .handshaking ? Self.maximumEarlyRecords - earlyRecords : .max)
        if phase == .handshaking { earlyRecords += scan.encrypted }
        if let refusal = scan.refusal {
            statistics.count(refusal)
            if let alert = scan.endingAlert { hold(alert, now: now) }
            if scan.admitted == 0 { return .dropped(refusal) }
        }
        statistics.datagramsReceived += 1
        let wasEstablished = phase == .established
        let status = datagram.withUnsafeBytes { bytes in
            dtls_box_step(box, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), scan.admitted)
        }
        let messages = dtls_box_messages(box)
        // Something valid came after the alert: it was forged.
        if messages != messagesSeen, scan.refusal == nil { alertDeadline = .never }
        if messages != messagesSeen, carriage == .line { flightCameByLine = true }
        messagesSeen = messages
        let advanced = absorb(status, now: now)
        if wasEstablished, phase == .established { answerLateHandshake(datagram, now: now) }
        return advanced ? .advanced : .accepted
    }

    /// Queues close_notify when there is an association, and ends it.
    package mutating func close() {
        assertOwner()
        guard phase != .ended else { return }
        if phase == .established {
            dtls_box_shutdown(box)
            enqueue(DTLSFlight(takingWritesOf: box, maximumDatagram: maximumDatagram).originals)
        }
        end()
    }

    // MARK: - Outputs

    /// The next event, oldest first.
    package mutating func pollEvent() -> DTLSEvent? { events.isEmpty ? nil : events.removeFirst() }

    /// Whether a datagram waits for `pollDatagram`.
    package var hasDatagrams: Bool { !queue.isEmpty }

    /// Writes the next datagram into `out` and returns its length; nil, with `out` untouched, when there is none.
    ///
    /// A datagram for which `out` has no room waits. Whoever sends it over UDP calls `armRetransmission`.
    package mutating func pollDatagram(into out: inout OutputRawSpan, now: Instant) -> Int? {
        guard let next = queue.first, out.freeCapacity >= next.count else { return nil }
        queue.removeFirst()
        for byte in next { out.append(byte) }
        statistics.datagramsSent += 1
        return next.count
    }

    // MARK: - Inside

    func assertOwner() { assert(owner.isCurrent, "a DTLS session is used by the thread that made it") }

    mutating func drop(_ reason: DTLSDropReason) -> DTLSVerdict {
        statistics.count(reason)
        return .dropped(reason)
    }

    private mutating func hold(_ alert: UInt8, now: Instant) {
        guard phase == .handshaking, !flightCameByLine, alertDeadline == .never else { return }
        heldAlert = alert
        alertDeadline = now + max(Self.plaintextAlertPatience, 2 * roundTrip)
    }

    /// Takes over what a step wrote and did. Returns whether anything moved.
    @discardableResult
    mutating func absorb(_ status: Int32, now: Instant) -> Bool {
        let flights = dtls_box_flights(box)
        let written = DTLSFlight(takingWritesOf: box, maximumDatagram: maximumDatagram)
        let finishing = phase == .handshaking && status != DTLS_STEP_WAITING
        var moved = finishing
        if flights != flightsSeen || (finishing && status == DTLS_STEP_ESTABLISHED && !written.originals.isEmpty) {
            flightsSeen = flights
            begin(written)
            moved = true
        } else if !written.originals.isEmpty {
            if phase == .established {
                statistics.lastFlightResends += 1
                lastFlightResentAt = now
            }
            enqueue(written.originals)
        }
        switch status {
        case Int32(DTLS_STEP_ESTABLISHED) where phase == .handshaking:
            phase = .established
            stopRetransmission()
            alertDeadline = .never
            if var last = current {
                last.repeats = []
                current = last
            }
        case Int32(DTLS_STEP_CLOSED):
            report()
            guard completionReported else {
                fail(.alert(DTLSRecordScan.closeNotify))
                return true
            }
            events.append(.closed)
            end()
            return true
        case Int32(DTLS_STEP_FAILED):
            if finishing { lastWords = written.originals }
            return handleFailure()
        default: break
        }
        report()
        return moved
    }

    private mutating func handleFailure() -> Bool {
        let alert = dtls_box_alert(box)
        if dtls_box_verified(box) < 0 {
            fail(.fingerprintMismatch)
        } else if alert >= 0 {
            fail(.alert(UInt8(truncatingIfNeeded: alert)))
        } else if phase == .established, completionReported {
            // Nothing the path can do after completion takes a call down; only an authenticated alert does.
            statistics.lateErrors += 1
            return false
        } else {
            fail(.protocolError(String(cString: dtls_box_error_text(box))))
        }
        return true
    }

    /// Reports keys and completion as soon as all they need is there.
    mutating func report() {
        guard phase == .handshaking || phase == .established else { return }
        let verified = dtls_box_verified(box)
        if verified < 0 { return failAfterHandshake(.fingerprintMismatch) }
        let final = role == .client ? dtls_box_finished_sent(box) != 0 : phase == .established
        if final, !keysReported {
            guard let profile = SRTPProfile(rawValue: UInt16(truncatingIfNeeded: dtls_box_srtp_profile(box))) else {
                return failAfterHandshake(.noSRTPProfile)
            }
            guard verified > 0 else { return }
            guard let keys = exportKeys(profile) else { return failAfterHandshake(.protocolError("no exporter")) }
            keysReported = true
            statistics.version = String(cString: dtls_box_version(box))
            statistics.cipher = String(cString: dtls_box_cipher(box))
            statistics.srtpProfile = profile
            events.append(.keys(keys))
        }
        if phase == .established, keysReported, !completionReported {
            completionReported = true
            events.append(.completed)
        }
    }

    private func exportKeys(_ profile: SRTPProfile) -> SRTPKeys? {
        let length = 2 * (profile.keyLength + profile.saltLength)
        return withUnsafeTemporaryAllocation(byteCount: length, alignment: 16) { material in
            defer { dtls_wipe(material.baseAddress, length) }
            let start = material.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard dtls_box_export(box, start, length) == 1 else { return nil }
            return try? SRTPKeys(profile: profile, exported: UnsafeRawBufferPointer(material).bytes, role: role)
        }
    }

    private mutating func failAfterHandshake(_ failure: DTLSFailure) {
        if phase == .established {
            dtls_box_shutdown(box)
            enqueue(DTLSFlight(takingWritesOf: box, maximumDatagram: maximumDatagram).originals)
        }
        fail(failure)
    }

    mutating func fail(_ failure: DTLSFailure) {
        guard phase != .ended else { return }
        events.append(.failed(failure))
        end()
    }

    private mutating func end() {
        phase = .ended
        stopRetransmission()
        alertDeadline = .never
        current = nil
    }
}
