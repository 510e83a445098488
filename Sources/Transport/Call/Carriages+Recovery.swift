internal import ICELite
import TransportLine

/// What others had counted as an outage began.
struct OutageStart {
    var concealedSamples: Int64 = 0
    var checksSent = 0
}

/// What the owner of a call hears of the path's recovery; all else is done.
enum RecoveryNews {
    case recoveringChanged(Bool)
    /// New ports are worth a try.
    case socketsWanted
    /// Those that are not used may go.
    case socketsSettled
    /// The window of the outage is over.
    case windowEnded
}

// The bridge over an outage, and what an outage wants of line and path.

extension Carriages {
    /// Inputs of an active call come every 10 ms: after a longer pause than this the process has not run meanwhile.
    static let stallLimit = Nanoseconds.seconds(1)

    /// Audio goes on both carriages.
    var isBridging: Bool { recovery?.isBridging ?? false }

    /// Audio on the line is taken beside the path's: a bridge is on, or was a moment ago.
    func takesBridge(now: Instant) -> Bool {
        guard inForce == .webrtc else { return false }
        if isBridging { return true }
        return recovery?.bridgeEndedAt.map { now - $0 <= limits.closedCarriageGrace.nanoseconds } ?? false
    }

    /// Whether the next packet goes on the line, too: not behind others while the path may be the faster.
    var bridgesNext: Bool {
        guard isBridging else { return false }
        return recovery?.isBroken == true || queuedLineAudio == 0
    }

    private var queuedLineAudio: Int {
        switch line {
        case .some(let line): line.queuedAudio
        case .none: 0
        }
    }

    /// An input comes at `now`: a pause since the last one that no machine of ours has asked for is the process's own, and
    /// nobody else's fault.
    mutating func noteInput(now: Instant) {
        guard isActive else { return }
        if lastInputAt != .never, now - lastInputAt > Self.stallLimit {
            line?.excuseSilence(now: now)
            media.noteStandstill(for: now - lastInputAt, now: now)
            // Consent may be over: nothing more is sent there, whatever the input is.
            path?.handleTimeout(now: now)
            recovery?.stalled(for: now - lastInputAt, now: now)
        }
        lastInputAt = now
    }

    /// Carries out the next thing that the recovery wants; nil when there is none, or none that the owner must hear of.
    mutating func pollRecovery(epoch: Int, now: Instant) -> RecoveryNews? {
        while let effect = recovery?.pollEffect() ?? nil {
            switch effect {
            case .began:
                outageStart = OutageStart(
                    concealedSamples: media.inbound.buffer.concealedSamples, checksSent: evidence?.checksSent ?? 0)
                line?.setWatch(.suspect, now: now)
            case .askBridge(let isOn):
                send(.bridge(ControlMessage.Bridge(on: isOn, epoch: UInt32(clamping: epoch))))
            case .probe: path?.probe(now: now)
            case .askLine:
                line?.ping(now: now)
                isLineAsked = true
            case .check: path?.checkNow(now: now)
            case .openFreshSockets: return .socketsWanted
            case .recoveringChanged(let isOn): return .recoveringChanged(isOn)
            case .windowEnded: return .windowEnded
            case .finished:
                accountOutage()
                line?.setWatch(.calm, now: now)
                return .socketsSettled
            }
        }
        return nil
    }

    /// The line has been read: what the recovery waits for may be in it.
    mutating func noteLineRead(now: Instant) {
        guard isLineAsked, line?.isPinging != true else { return }
        isLineAsked = false
        recovery?.lineAnswered(now: now)
    }

    /// The path is not watched any more: what becomes of an outage that lasts.
    mutating func stopRecovery(_ outcome: OutageOutcome, now: Instant) {
        accountOutage()
        recovery?.stop(outcome, now: now)
    }

    /// Adds to the newest outage what it cost, once.
    private mutating func accountOutage() {
        guard let start = outageStart else { return }
        outageStart = nil
        let concealed = Int(media.inbound.buffer.concealedSamples - start.concealedSamples)
        let checks = (evidence?.checksSent ?? start.checksSent) - start.checksSent
        recovery?.account(framesLost: concealed / CallMedia.packetSamples, checksSent: checks)
    }
}
