/// What became of one call: the measured side of the report, filled in by whoever placed the call.
///
/// Every value that was not measured is nil; `unknownBecause` says why, by the section it belongs to. Never 0 or −1.
struct CallResult: Sendable {
    /// The words of `transport`.
    enum Transport: String, Sendable { case webrtc, websocket }

    /// Why the call is on the WebSocket although it wanted WebRTC.
    struct Fallback: Equatable, Sendable {
        /// The wire word.
        var reason: String
        var stage: String
        /// Milliseconds since hello.
        var elapsedMilliseconds: Double
        var detail: String
    }

    /// Milliseconds since the call started, except where said otherwise.
    struct Setup: Equatable, Sendable {
        var dns: Double?
        var tcp: Double?
        var tls: Double?
        var upgrade: Double?
        var hello: Double?
        var welcome: Double?
        var firstCheck: Double?
        var ice: Double?
        var dtls: Double?
        var firstAudio: Double?
        var active: Double?
        /// From the offer to the first audio packet heard.
        var offerToFirstAudio: Double?
        /// Round trip of the line.
        var rtt: Double?

        /// Below this a round trip is the machine's own time, and a multiple of it says nothing.
        static let leastRoundTrip = 1.0

        /// From the offer to the first audio, in round trips; nil where the round trip is unknown or below 1 ms.
        var roundTripMultiple: Double? {
            guard let rtt, rtt >= Self.leastRoundTrip, let offerToFirstAudio else { return nil }
            return offerToFirstAudio / rtt
        }
    }

    /// Milliseconds.
    struct Percentiles: Equatable, Sendable {
        var minimum: Double?
        var average: Double?
        var p50: Double?
        var p95: Double?
        var maximum: Double?

        init() {}

        /// The percentiles of `samples` (nearest rank); all nil when there are none.
        init(_ samples: [Double]) {
            guard !samples.isEmpty else { return }
            let sorted = samples.sorted()
            func rank(_ percent: Int) -> Double { sorted[max(0, (percent * sorted.count + 99) / 100 - 1)] }
            minimum = sorted.first
            average = sorted.reduce(0, +) / Double(sorted.count)
            (p50, p95) = (rank(50), rank(95))
            maximum = sorted.last
        }
    }

    struct Media: Equatable, Sendable {
        var sent: Int?
        var received: Int?
        var lost: Int?
        var duplicate: Int?
        var reordered: Int?
        var burstCount: Int?
        var burstMaxPackets: Int?
        var jitter: Double?
        var rtt = Percentiles()
        var concealedPercent: Double?
        var playoutDelay = Percentiles()
        var mouthToEar = Percentiles()
        var longestGap: Double?
        /// How late the probe's own timers came.
        var timerLateness: TimerLateness?
        var mos: Double?
        /// Scale and source of `mos`.
        var mosModel: String?

        /// Lost of all that was expected, percent.
        var lossPercent: Double? {
            guard let lost, let received, lost + received > 0 else { return nil }
            return Double(max(0, lost)) * 100 / Double(lost + received)
        }
    }

    struct DTLS: Equatable, Sendable {
        var version: String?
        var cipher: String?
        var srtpProfile: String?
        var role: String?
        var retransmits: Int?
        var helloInOffer: Bool?
        /// Flights that went on the line, and those that came there.
        var flightsOnLine: Int?
        /// Pairs whose first check our flight followed.
        var flightsBehindChecks: Int?
        /// Media packets sent before the peer's Finished.
        var earlyPackets: Int?
    }

    struct ICE: Equatable, Sendable {
        var local: String?
        var remote: String?
        /// Our addresses as STUN servers told them; nil when there was no media path.
        var reflexive: [String]?
        var checksSent: Int?
        var firstResponse: Double?
        var nominated: Double?
    }

    /// `webrtc`, `udp-dropped` … in the self-test, `call` elsewhere.
    var name: String
    var preference = ProbeOptions.Preference.auto
    /// The state's word when the measurement ended.
    var state = "idle"
    var transport: Transport?
    var fallback: Fallback?
    /// Who ended the active call; nil for a call that never was active.
    var ending: Ending?
    /// Ctrl-C or `--timeout` ended it.
    var wasStopped = false
    /// `CallOutcome` as JSON, or null.
    var outcome = JSONValue.null
    /// Why there was no call: then the rest is what was known by then.
    var failure: ProbeError?
    /// The code of `failure` for `explain`.
    var failureCode: String?
    var setup = Setup()
    var media = Media()
    var dtls: DTLS?
    var ice: ICE?
    /// nil for a call that never was on the media path.
    var recovery: Recovery?
    var bytesSent: Int?
    var bytesReceived: Int?
    /// What came back; nil when nothing was compared.
    var returned: ReturnedAudio?
    /// What was heard since active, 48 kHz mono; kept only when it is to be written to a file.
    var recording: [Int16]?

    /// Whether WebRTC was wanted.
    var wantedWebRTC: Bool { preference != .websocket }

    /// Whether the call reached active.
    var wasActive: Bool { setup.active != nil }
}

/// What the echo sent back, judged.
struct ReturnedAudio: Equatable, Sendable {
    var marker: MarkerDetector.Result
    var levels: LevelCorrelation
    /// The audio itself covers the markers: even a perfect echo of it would miss some.
    var hidesMarkers = false

    /// Compares what was played into the call with what came out of it, both from active on, 48 kHz mono.
    init(original: [Int16], returned: [Int16]) {
        marker = MarkerDetector.detect(in: returned)
        if marker.heard < marker.expected {
            var echo = Array(original.prefix(Self.perfectEchoSamples))
            var processor = EchoProcessor()
            processor.markActive()
            processor.process(&echo)
            let perfect = MarkerDetector.detect(in: echo)
            hidesMarkers = perfect.heard < perfect.expected
        }
        levels = LevelCorrelation.compare(original: original, returned: returned, markers: marker.positions)
    }

    /// So much of the original is looked at for what it hides: 10 s.
    private static let perfectEchoSamples = 10 * EchoProcessor.sampleRate

    init(marker: MarkerDetector.Result, levels: LevelCorrelation) {
        self.marker = marker
        self.levels = levels
    }
}
