import CallSimulation
import ICELite
import Transport
import TransportMedia

/// A call that a test writes down, observation by observation.
struct HandMadeCall {
    var call = ObservedCall(scenario: Scenario())
    private var frames: [UInt32] = [0, 0]
    private var sentFrames: [UInt32] = [0, 0]

    static let path = NetworkPath(
        local: SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 5_000),
        remote: SocketAddress(ip: IPAddress(v4: 0xC633_6401), port: 3_478))

    init() {
        call.facts.lineRoundTrip = .milliseconds(50)
        call.facts.pathRoundTrip = .milliseconds(50)
        call.facts.endedAt = .zero
    }

    /// Adds what is seen at `at`, behind all that is there.
    mutating func see(_ what: Observation..., at: Nanoseconds) {
        for one in what { call.observations.append((Instant(nanoseconds: at), one)) }
        call.facts.endedAt = max(call.facts.endedAt, Instant(nanoseconds: at))
    }

    /// Both ends up to an active call on `transport`, whose parts come at these times.
    mutating func becomeActive(
        on transport: TransportKind, fallback: TransportFallback? = nil, at active: Nanoseconds = .seconds(1)
    ) {
        see(
            .network(pathUp: true, pathDown: true, lineUp: true, lineDown: true), .milestone(.start),
            .state(.client, .connecting, isRecovering: false), at: 0)
        see(.milestone(.lineOpen), .state(.server, .connecting, isRecovering: false), at: .milliseconds(100))
        see(.milestone(.helloSent), at: .milliseconds(101))
        see(.milestone(.welcome), at: .milliseconds(200))
        see(.milestone(.dtlsDone), at: .milliseconds(300))
        see(.choice(.client, epoch: 1, transport, fallback), at: active - .milliseconds(100))
        see(.choice(.server, epoch: 1, transport, fallback), at: active - .milliseconds(50))
        see(.state(.client, .active, isRecovering: false), at: active)
        see(.state(.server, .active, isRecovering: false), at: active)
    }

    /// Both ends talk and hear each other from `start` until just before `end`: frames of 20 ms that arrive at once. An end
    /// in `deaf` hears concealment instead, and nothing is lost to it in between: its frames go on behind the gap.
    mutating func talk(
        from start: Nanoseconds, to end: Nanoseconds, deaf: [CallEnd] = [], on carriage: AudioCarriage = .path
    ) {
        var now = start
        while now < end {
            for sender in CallEnd.allCases {
                let index = Int(sender.rawValue)
                if (now - start) % .milliseconds(20) == 0 {
                    frames[index] += 1
                    see(.captured(sender, frame: frames[index]), at: now)
                    if !deaf.contains(sender.peer) {
                        let wire = carriage == .path ? Wire.path(Self.path) : .line(0)
                        see(.arrived(sender.peer, wire, byteCount: 100, frame: frames[index]), at: now)
                    }
                }
                if deaf.contains(sender.peer) {
                    see(.played(sender.peer, .concealed), at: now)
                } else {
                    let isFirstHalf = (now - start) % .milliseconds(20) == 0
                    see(
                        .played(sender.peer, .frame(id: frames[index], isFirstHalf: isFirstHalf, on: carriage)), at: now
                    )
                }
            }
            now += .milliseconds(10)
        }
    }

    /// The client hangs up at `at`, and the server hears of it 25 ms later.
    mutating func hangUp(at: Nanoseconds) {
        see(.state(.client, .ended, isRecovering: false), .outcome(.client, .ended(.local)), at: at)
        call.facts.byeDeliveredToServer = true
        call.facts.clientHungUpAt = Instant(nanoseconds: at)
        see(
            .state(.server, .ended, isRecovering: false), .outcome(.server, .ended(.remote)),
            at: at + .milliseconds(25))
    }

    /// A whole call without a fault.
    static func calm(on transport: TransportKind = .webrtc, for length: Nanoseconds = .seconds(3)) -> HandMadeCall {
        var call = HandMadeCall()
        call.call.scenario.client.preference = transport == .webrtc ? .auto : .websocket
        call.becomeActive(on: transport)
        call.talk(from: .seconds(1), to: length, on: transport == .webrtc ? .path : .line)
        call.hangUp(at: length)
        return call
    }

    /// What the judge says.
    var violations: [Violation] {
        var judge = Judge()
        return judge.judge(call).violations
    }

    /// Whether the judge finds that `invariant` is broken, and nothing else.
    func breaksOnly(_ invariant: Invariant) -> Bool { violations.map(\.invariant) == [invariant] }
}
