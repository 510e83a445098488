import ICELite
import Testing
import Transport

@Suite("Fallback detection") struct FallbackDetectorTests {
    let limits = TransportLimits()
    let hello = Instant.zero

    private func at(_ milliseconds: Int64) -> Instant { Instant.zero + .milliseconds(milliseconds) }

    private func verdict(_ evidence: PathEvidence, at milliseconds: Int64, lineHeard: Int64? = nil) -> PathVerdict? {
        FallbackDetector.verdict(
            evidence, helloAt: hello, lineHeardAt: at(lineHeard ?? milliseconds), limits: limits, now: at(milliseconds))
    }

    private func checking() -> PathEvidence {
        var evidence = PathEvidence()
        evidence.localCandidates = 1
        evidence.pairs = 1
        evidence.remoteIsComplete = true
        evidence.lastPairAt = at(100)
        evidence.checksSent = 9
        return evidence
    }

    @Test("Unanswered checks are given up 3 s after the last new pair, not before")
    func noResponse() {
        #expect(verdict(checking(), at: 3_099) == nil)
        let given = verdict(checking(), at: 3_100)
        #expect(given?.reason == .iceNoResponse)
        #expect(given?.stage == .checks)
        #expect(FallbackDetector.deadline(checking(), helloAt: hello, limits: limits) == at(3_100))
    }

    @Test("A line that is silent too says nothing about UDP: the budget decides")
    func deadLine() {
        #expect(verdict(checking(), at: 5_000, lineHeard: 3_999) == nil)
        #expect(verdict(checking(), at: 5_000, lineHeard: 4_000)?.reason == .iceNoResponse)
        #expect(verdict(checking(), at: 12_000, lineHeard: 0)?.reason == .iceNoResponse)
    }

    @Test("A peer that may still trickle is waited for until the budget ends")
    func incomplete() {
        var evidence = checking()
        evidence.remoteIsComplete = false
        #expect(verdict(evidence, at: 11_999) == nil)
        #expect(verdict(evidence, at: 12_000)?.reason == .iceNoResponse)
        evidence.pairs = 0
        evidence.checksSent = 0
        #expect(verdict(evidence, at: 12_000)?.reason == .setupTimeout)
    }

    @Test("Refused sends on every pair mean UDP is blocked, at once")
    func blocked() {
        var evidence = checking()
        evidence.everyPairRefused = "ICMP 3/13 from 192.0.2.1"
        let given = verdict(evidence, at: 101)
        #expect(given?.reason == .udpBlocked)
        #expect(given?.detail == "ICMP 3/13 from 192.0.2.1")
        evidence.firstAnswerAt = at(100)
        #expect(verdict(evidence, at: 101) == nil)
    }

    private func nothingPaired() -> PathEvidence {
        var evidence = checking()
        evidence.pairs = 0
        evidence.checksSent = 0
        evidence.lastPairAt = nil
        return evidence
    }

    @Test("Nothing to pair with a complete peer: at once when our candidates are complete, too, else after 3 s")
    func nothingToPair() {
        var evidence = nothingPaired()
        #expect(verdict(evidence, at: 2_999) == nil)
        #expect(FallbackDetector.deadline(evidence, helloAt: hello, limits: limits) == at(3_000))
        #expect(verdict(evidence, at: 3_000)?.reason == .noCandidates)
        evidence.localIsComplete = true
        #expect(verdict(evidence, at: 1)?.reason == .noCandidates)
    }

    @Test("Pairs that were checked and went with their interface are no missing candidates: no answer came")
    func pairsGone() {
        var evidence = checking()
        evidence.pairs = 0
        evidence.checksSent = 5
        evidence.localIsComplete = true
        #expect(verdict(evidence, at: 3_000) == nil)
        let given = verdict(evidence, at: 3_100)
        #expect(given?.reason == .iceNoResponse)
        #expect(given?.detail == "5 checks, none answered, and no pair is left")
        evidence.remoteIsComplete = false
        #expect(verdict(evidence, at: 12_000)?.reason == .iceNoResponse)
    }

    @Test("Without any local address the network may still come up: 3 s")
    func noAddress() {
        var evidence = nothingPaired()
        evidence.localCandidates = 0
        evidence.localIsComplete = true
        #expect(verdict(evidence, at: 2_999) == nil)
        let given = verdict(evidence, at: 3_000)
        #expect(given?.reason == .noCandidates)
        #expect(given?.stage == .candidates)
    }

    @Test("Answers that are all errors are a rejection")
    func rejected() {
        var evidence = checking()
        evidence.onlyErrorResponses = true
        #expect(verdict(evidence, at: 3_100)?.reason == .iceRejected)
    }

    @Test("The handshake has max(3 s, 8 round trips) since its last progress")
    func handshake() {
        var evidence = checking()
        evidence.firstAnswerAt = at(200)
        evidence.roundTrip = .milliseconds(500)
        #expect(verdict(evidence, at: 4_199) == nil)
        #expect(verdict(evidence, at: 4_200)?.reason == .dtlsTimeout)
        evidence.lastHandshakeProgressAt = at(1_000)
        #expect(verdict(evidence, at: 4_999) == nil)
        #expect(verdict(evidence, at: 5_000)?.reason == .dtlsTimeout)
        evidence.roundTrip = .milliseconds(10)
        #expect(verdict(evidence, at: 4_000)?.reason == .dtlsTimeout)
    }

    @Test("Keys without a packet are a media timeout of the downlink")
    func silent() {
        var evidence = checking()
        evidence.firstAnswerAt = at(200)
        evidence.keysAt = at(300)
        #expect(verdict(evidence, at: 3_299) == nil)
        let given = verdict(evidence, at: 3_300)
        #expect(given?.reason == .mediaTimeout)
        #expect(given?.stage == .downlink)
        evidence.firstMediaAt = at(310)
        #expect(verdict(evidence, at: 20_000) == nil)
    }

    @Test(
        "Keys that came by the line say nothing of UDP: no check answered is ice_no_response, refusals are udp_blocked")
    func keysByLine() {
        var evidence = checking()
        let without = verdict(evidence, at: 20_000)
        evidence.keysAt = at(110)
        #expect(evidence.stage == .checks)
        #expect(verdict(evidence, at: 20_000) == without)
        evidence.everyPairRefused = "errno 111"
        #expect(verdict(evidence, at: 150)?.reason == .udpBlocked)
        evidence.everyPairRefused = nil
        // The patience with media runs from the answer, not from the keys.
        evidence.firstAnswerAt = at(2_000)
        #expect(evidence.stage == .downlink)
        #expect(verdict(evidence, at: 4_999) == nil)
        #expect(verdict(evidence, at: 5_000)?.reason == .mediaTimeout)
    }

    @Test(
        "What broke is named",
        arguments: [
            (PathEvidence.Failure.alert(40), TransportFallbackReason.dtlsFailed),
            (.handshake("no shared cipher"), .dtlsFailed), (.fingerprintMismatch, .dtlsFingerprintMismatch),
            (.noSRTPProfile, .srtpProfileMismatch), (.srtp("init"), .internalError),
        ])
    func failures(failure: PathEvidence.Failure, reason: TransportFallbackReason) {
        var evidence = checking()
        evidence.failure = failure
        #expect(verdict(evidence, at: 150)?.reason == reason)
    }

    @Test("Every reason's word reads back, an unknown word is kept")
    func words() {
        for reason in TransportFallbackReason.known { #expect(TransportFallbackReason(wire: reason.wire) == reason) }
        #expect(Set(TransportFallbackReason.known.map(\.wire)).count == 18)
        #expect(TransportFallbackReason(wire: "solar_flare") == .unknown("solar_flare"))
    }
}
