/// The self-test: four calls against an endpoint in this process, side by side.
enum SelfTest {
    /// What a call has to end as.
    struct Expectation: Equatable, Sendable {
        var transport: CallResult.Transport
        /// nil: no fallback.
        var reason: String?
        /// From the welcome to the choice, at most; nil: no limit of its own.
        var longestChoiceMilliseconds: Double?

        var description: String { transport.rawValue + "/" + (reason ?? "none") }

        /// Reads `webrtc/none` or `websocket/ice_no_response`.
        static func parse(_ text: String, call: String) throws(ProbeError) -> Expectation {
            guard cases.contains(where: { $0.name == call }) else {
                throw .usage("--expect: \(call) is not one of \(cases.map(\.name).joined(separator: ", "))")
            }
            let words = text.split(separator: "/", omittingEmptySubsequences: false)
            guard words.count == 2, let transport = CallResult.Transport(rawValue: String(words[0])) else {
                throw .usage("--expect must be NAME=webrtc/none or NAME=websocket/REASON")
            }
            let reason = String(words[1])
            guard reason == "none" || ReasonCatalogue.entry(reason)?.kind == .fallback else {
                throw .usage("--expect: \(reason) is not a fallback reason; explain lists them")
            }
            return Expectation(transport: transport, reason: reason == "none" ? nil : reason)
        }
    }

    struct Case: Sendable {
        var name: String
        var preference: ProbeOptions.Preference
        var udp: ImpairmentSpec.UDPMode
        var expectation: Expectation
    }

    /// Seconds of active call unless `--duration` says otherwise: long enough for six markers.
    static let defaultDuration = 7.0

    /// The limits are the contract's: never past 12 s; a rejected UDP within 1 s of the welcome.
    static let cases: [Case] = [
        Case(
            name: "webrtc", preference: .auto, udp: .pass,
            expectation: Expectation(transport: .webrtc, reason: nil, longestChoiceMilliseconds: 12_000)),
        Case(
            name: "udp-dropped", preference: .auto, udp: .drop,
            expectation: Expectation(
                transport: .websocket, reason: "ice_no_response", longestChoiceMilliseconds: 12_000)),
        Case(
            name: "udp-rejected", preference: .auto, udp: .reject,
            expectation: Expectation(transport: .websocket, reason: "udp_blocked", longestChoiceMilliseconds: 1_000)),
        Case(
            name: "websocket", preference: .websocket, udp: .pass,
            expectation: Expectation(transport: .websocket, reason: nil)),
    ]

    /// The check that decides about one call: as expected or not, and what differs.
    static func check(_ call: CallResult, _ expected: Expectation) -> Report.Check {
        var check = Report.Check(
            id: "\(call.name).expected", title: "ends as expected: \(expected.description)", status: .pass, started: 0,
            duration: call.setup.active)
        var differences: [String] = []
        if let failure = call.failure { differences.append(failure.message) }
        if !call.wasActive { differences.append("never active") }
        if call.transport != expected.transport || call.fallback?.reason != expected.reason {
            let found = (call.transport?.rawValue ?? "no transport") + "/" + (call.fallback?.reason ?? "none")
            differences.append("\(found) instead of \(expected.description)")
        }
        if let limit = expected.longestChoiceMilliseconds, let fallback = call.fallback, let hello = call.setup.hello {
            // elapsed_ms counts from hello, the limit from the welcome.
            let sinceWelcome = fallback.elapsedMilliseconds - max(0, (call.setup.welcome ?? hello) - hello)
            if sinceWelcome > limit { differences.append("chosen after \(Int(sinceWelcome)) ms, limit \(Int(limit))") }
        }
        if let marker = call.returned?.marker, marker.expected > 0 {
            if call.returned?.hidesMarkers != true, marker.heard < marker.expected {
                differences.append("marker heard \(marker.heard) of \(marker.expected) times")
            }
        } else if call.wasActive {
            differences.append("no marker was due: the call was too short or nothing came back")
        }
        if !differences.isEmpty {
            check.status = .fail
            // Times that a busy machine spoilt are no fault to report.
            let isBusy = call.media.timerLateness?.isBusy(withoutNetwork: true) == true
            check.code = isBusy ? "machine_busy" : "unexpected_end"
            check.detail = differences.joined(separator: "; ")
            check.advice = check.code.flatMap { ReasonCatalogue.entry($0)?.advice }
        }
        return check
    }
}
