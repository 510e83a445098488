import ICELite

/// The numbers of the simulation's rules. The promises stand here a second time on purpose: a limit that is changed in the
/// product must be noticed.
enum JudgeLimits {
    // MARK: 1, decided in time

    /// From start to welcome.
    static let welcome = Nanoseconds.seconds(15)
    /// From hello to a chosen carriage.
    static let choice = Nanoseconds.seconds(12)
    /// From start to active.
    static let active = Nanoseconds.seconds(27)
    /// The same at the server, from the accepted line: upgrade 5 s, hello 5 s, select 20 s, active 15 s.
    static let serverActive = Nanoseconds.seconds(45)
    /// Recovering, from the suspicion on.
    static let recovering = Nanoseconds.seconds(10)
    /// The other end may go on asking for the bridge so long behind an answered check; then it is asked by the line.
    static let answerHolds = Nanoseconds.seconds(3)
    /// Inputs of an active call that is run come at least as often: a pause is known so well.
    static let betweenInputs = Nanoseconds.milliseconds(10)
    /// A longer pause than this is seen as one.
    static let pauseSeen = Nanoseconds.seconds(1)
    /// What came in a pause that was seen is read for this long before anything is judged.
    static let readFirst = Nanoseconds.milliseconds(100)
    /// Two outages closer than this are one.
    static let sameOutage = Nanoseconds.seconds(5)
    /// A line without a byte is dead.
    static let lineDead = Nanoseconds.seconds(10)
    /// The same while it is suspect, as a call that recovers makes it.
    static let suspectLineDead = Nanoseconds.seconds(3)
    /// A call on the media path lives this long without its line.
    static let lineLost = Nanoseconds.seconds(30)

    // MARK: The network

    /// What is sent on a good carriage arrives within this.
    static let goodArrival = Nanoseconds.milliseconds(400)

    // MARK: 4, played

    /// What is in flight on a carriage as it is closed is still welcome for this long.
    static let closedCarriage = Nanoseconds.seconds(1)
    /// Samples of a pull.
    static let pullSamples: Int64 = 480

    // MARK: 5, heard

    /// A carriage counts when it has been good for two round trips of the line and this.
    static let carriableAfter = Nanoseconds.seconds(1)
    /// A pull.
    static let pull = Nanoseconds.milliseconds(10)
    /// What is heard between two frames at least while the other end's application talks.
    static let talking = Nanoseconds.milliseconds(100)
    /// Suspicion at the least, and by 3.5 of the peer's intervals of 100 ms.
    static let suspicion = Nanoseconds.milliseconds(350)
    /// Suspicion at the most.
    static let suspicionMost = Nanoseconds.seconds(1)
    /// Loss, in thousandths of a percent, up to which the 95th percentile of the gaps is that of a path without loss.
    static let seldomLost = 5_000
    /// Gaps that a threshold follows from are kept for this long.
    static let gapsKept = Nanoseconds.seconds(30)
    /// A round of checks: of the pair in use, of four others and of two that were never answered, 20 ms apart.
    static let probeRound = Nanoseconds.milliseconds(6 * 20)
    /// A false alarm doubles the threshold for this long.
    static let doubledFor = Nanoseconds.seconds(30)
    /// What a switch costs beside suspicion, round trip and jitter.
    static let heardMargin = Nanoseconds.milliseconds(60)
    /// Below this round trip the run is bounded absolutely.
    static let shortRoundTrip = Nanoseconds.milliseconds(300)
    static let heardAbsolutely = Nanoseconds.milliseconds(700)
    /// A move of the NAT costs two round trips and this.
    static let rebindMargin = Nanoseconds.milliseconds(100)
    /// The loss of the path, in thousandths of a percent, beyond which the check that a move needs may be lost.
    static let rebindLoss = 1_000
    /// Three reports in which nothing of ours has come, behind the one that has the last of it, are known within this.
    static let reportsOfStandstill = Nanoseconds.seconds(4)
    /// A run that begins this soon after a rebinding is its.
    static let rebindReach = Nanoseconds.seconds(1)
    /// Frames captured this near to the call's end do not count as unheard.
    static let oracleTail = Nanoseconds.seconds(1)

    // MARK: 7, bounded

    /// Packets of an end in any second: 2 × 50 audio, checks, others.
    static let audioPackets = 100
    static let checks = 60
    static let otherPackets = 20
    static let packets = audioPackets + checks + otherPackets
    /// Bytes that wait for the line: an application's messages, and one of the longest on top.
    static let lineBytesQueued = (1 << 20) + 256 * 1_024
    /// Packets of the line's that wait for a choice: a second of audio.
    static let packetsParked = 50
    /// With a good path a bridge ends: the least time of a bridge, the media that shows the repair, two rounds of checks.
    static let bridgeAfterRepair = Nanoseconds.milliseconds(2_000 + 500 + 1_000)
    /// What an ended call still says.
    static let lastWords = Nanoseconds.seconds(1)

    // MARK: 9, delay

    /// The longest playout delay: the buffer's cap for the line, and what the plain buffer allows beyond it.
    static let playoutDelay = Nanoseconds.milliseconds(800 + 60)
    /// Holds of the network may push it up for this long.
    static let delayAfterHold = Nanoseconds.milliseconds(1_500)
    /// What a sender holds before it hands it to the line: a ring of 100 ms and the frame that fills it.
    static let senderHolds = Nanoseconds.milliseconds(100 + 20)

    // MARK: 10, 11, 12

    /// One suspicion in this much calm time.
    static let calmSuspicions = Nanoseconds.seconds(600)
    /// Nothing is sent on a pair whose last valid answer is older.
    static let consent = Nanoseconds.seconds(30)
    /// From the last fault to an active call without gaps.
    static let healed = Nanoseconds.seconds(12)
    /// A call without gaps, on a carriage that is good.
    static let healedGap = Nanoseconds.milliseconds(500)
}
