import ICELite
import Testing

@testable import Transport

/// Whoever knows the credentials can forge where a check comes from: what an endpoint then sends there is bounded.
@Suite("Return routability of a path") struct ReturnRoutabilityTests {
    private func bound(_ pair: PathPair) -> Int { 3 * pair.bytesFromElsewhere + 4_096 }

    @Test(
        "A spoofed check and a valid flight from an address that never answers get no more than the bound in a minute",
        arguments: [2, 4, 1_000])
    func spoofedSetup(datagrams: Int) throws {
        let pair = try PathPair()
        pair.source = PathPair.elsewhere
        pair.budget = datagrams
        pair.run(until: .zero + .seconds(60))
        #expect(pair.server.selectedPath == nil || pair.server.selectedPath == pair.seen)
        #expect(pair.bytesFromElsewhere > 100)
        // The flight was answered at all: else the bound says nothing.
        #expect(pair.bytesToElsewhere > 600)
        #expect(pair.bytesToElsewhere <= bound(pair))
    }

    @Test("A spoofed move in mid-call gets no more than the bound, and the call hears every packet where it was")
    func spoofedMove() throws {
        let pair = try PathPair()
        pair.run(until: .zero + .seconds(1))
        #expect(pair.isServerSecured)
        pair.startSpeaking()
        pair.run(until: .zero + .seconds(2))
        let before = pair.seen
        #expect(pair.isConfirmed(before))
        pair.client.checkNow(now: pair.now)
        pair.source = PathPair.elsewhere
        pair.budget = 1
        pair.run(until: pair.now + .milliseconds(100))
        #expect(pair.server.selectedPath == pair.seen)
        pair.source = PathPair.clientAddress
        pair.budget = nil
        pair.run(until: .zero + .seconds(25))
        #expect(pair.bytesToElsewhere > 500)
        #expect(pair.bytesToElsewhere <= bound(pair))
        let numbers = Set(pair.heard)
        // What was sent in the last 10 ms is under way.
        #expect(numbers.count >= pair.spoken - 1)
        #expect(pair.heard.count == numbers.count)
        #expect(pair.server.iceCounters.sendsRefused > 100)
    }

    @Test("A real move is confirmed by an echo, no packet is lost, and the old address is left alone")
    func realMove() throws {
        let pair = try PathPair()
        pair.run(until: .zero + .seconds(1))
        pair.startSpeaking()
        pair.run(until: .zero + .seconds(2))
        pair.client.checkNow(now: pair.now)
        pair.source = PathPair.elsewhere
        pair.isReachable = true
        pair.run(until: pair.now + .seconds(8))
        #expect(pair.isConfirmed(pair.seen))
        #expect(pair.server.lite?.destinations?.first == pair.seen && pair.server.lite?.destinations?.second == nil)
        #expect(Set(pair.heard).count >= pair.spoken - 1)
        // Both copies came while the move was unconfirmed; the replay list took the second.
        #expect(pair.heard.count == Set(pair.heard).count)
    }

    @Test("A peer without tokens that moves after the handshake is asked on the new tuple alone, and hears all by it")
    func askedMove() throws {
        let pair = try PathPair(renominates: false)
        pair.run(until: .zero + .seconds(1))
        #expect(pair.isConfirmed(pair.seen))
        pair.startSpeaking()
        pair.run(until: .zero + .seconds(2))
        // Muted, it earns nothing; its old address hears nothing any more.
        pair.client.checkNow(now: pair.now)
        pair.source = PathPair.elsewhere
        pair.isReachable = true
        pair.hasLeft = true
        let heard = pair.heard.count
        let spoken = pair.spoken
        pair.run(until: pair.now + .seconds(20))
        #expect(pair.isConfirmed(pair.seen))
        #expect(pair.server.lite?.destinations?.first == pair.seen && pair.server.lite?.destinations?.second == nil)
        // What was on its way to the old address is lost.
        #expect(pair.heard.count - heard >= pair.spoken - spoken - 3)
        #expect(pair.server.iceCounters.checksSent == 1)
        #expect(pair.server.iceCounters.sendsRefused == 0)
    }

    @Test("A peer without tokens that moves and answers no check keeps hearing all for 30 s of talk, within the bound")
    func standardMove() throws {
        let pair = try PathPair(renominates: false)
        pair.swallows = { $0.starts(with: [0, 1]) }
        pair.run(until: .zero + .seconds(1))
        #expect(pair.isConfirmed(pair.seen))
        pair.startSpeaking()
        pair.run(until: .zero + .seconds(2))
        pair.client.checkNow(now: pair.now)
        pair.source = PathPair.elsewhere
        pair.isReachable = true
        pair.run(until: pair.now + .milliseconds(20))
        for number in 1...1_500 as ClosedRange<UInt16> {
            pair.speakOnce(number)
            pair.run(until: pair.now + .milliseconds(20))
        }
        #expect(pair.server.selectedPath == pair.seen)
        #expect(!pair.isConfirmed(pair.seen))
        #expect(pair.server.iceCounters.checksSent == 3)
        #expect(pair.bytesToElsewhere > 100_000 && pair.bytesToElsewhere <= bound(pair))
        #expect(Set(pair.heard).count >= pair.spoken - 1)
        #expect(pair.serverHeard.count >= 1_499)
    }

    @Test("A peer without tokens is confirmed by the flight that answers one sent there alone")
    func confirmedByFlight() throws {
        let pair = try PathPair(renominates: false)
        pair.run(until: .zero + .milliseconds(15))
        #expect(pair.isAuthenticated(pair.seen))
        #expect(!pair.isConfirmed(pair.seen))
        pair.run(until: .zero + .seconds(1))
        #expect(pair.isServerSecured)
        #expect(pair.isConfirmed(pair.seen))
    }

    @Test("A flight that also went elsewhere confirms nobody")
    func notConfirmedByFlight() throws {
        let pair = try PathPair(renominates: false)
        // Its answer is under way.
        pair.run(until: .zero + .milliseconds(25))
        #expect(pair.server.flightSentTo == [pair.seen])
        pair.server.noteFlightSent(to: NetworkPath(local: PathPair.serverAddress, remote: PathPair.elsewhere))
        pair.run(until: .zero + .seconds(1))
        #expect(pair.isServerSecured)
        #expect(!pair.isConfirmed(pair.seen))
    }

    @Test("Without the endpoint's leave an unconfirmed tuple gets answers to its checks only")
    func admission() throws {
        let refused = try PathPair(renominates: false, asksForAdmission: true)
        refused.admits = false
        refused.run(until: .zero + .seconds(3))
        #expect(refused.isAuthenticated(refused.seen))
        #expect(!refused.isServerSecured && refused.server.flightSentTo.isEmpty)
        #expect(refused.client.evidence.firstAnswerAt != nil)
        let admitted = try PathPair(renominates: false, asksForAdmission: true)
        admitted.run(until: .zero + .seconds(3))
        #expect(admitted.isServerSecured)
    }

    @Test("Media from an address without a check is taken, moves nothing, and asks for a check, not too often")
    func foreignMedia() throws {
        let pair = try PathPair()
        pair.run(until: .zero + .seconds(1))
        let own = pair.seen
        pair.source = PathPair.elsewhere
        for number in 1...20 as ClosedRange<UInt16> {
            pair.speakOnce(number)
            pair.run(until: pair.now + .milliseconds(20))
        }
        #expect(pair.serverHeard == Array(1...20))
        #expect(pair.server.selectedPath == own)
        #expect(pair.server.statistics.foreignMedia == 20)
        #expect(pair.serverEvents.count { $0 == .checkWanted } == 1)
        #expect(pair.bytesToElsewhere == 0)
        pair.run(until: pair.now + .milliseconds(500))
        pair.speakOnce(21)
        pair.run(until: pair.now + .milliseconds(20))
        #expect(pair.serverEvents.count { $0 == .checkWanted } == 2)
        // What does not authenticate is worth a counter.
        let junk = [UInt8](repeating: 0x80, count: 100)
        let verdict = pair.deliver(junk, pair.seen, toServer: true)
        #expect(verdict == .dropped)
        #expect(pair.server.statistics.untrusted == 1)
    }

    @Test("A tuple is the call's for 5 s after its media")
    func holds() throws {
        let pair = try PathPair()
        pair.run(until: .zero + .seconds(1))
        #expect(!pair.holds(pair.seen, at: pair.now))
        pair.speakOnce(1)
        pair.run(until: pair.now + .milliseconds(10))
        let heardAt = pair.now
        #expect(pair.holds(pair.seen, at: heardAt + MediaPath.tupleKept - 1))
        #expect(!pair.holds(pair.seen, at: heardAt + MediaPath.tupleKept))
        let other = NetworkPath(local: PathPair.serverAddress, remote: PathPair.elsewhere)
        #expect(!pair.holds(other, at: heardAt))
    }
}
