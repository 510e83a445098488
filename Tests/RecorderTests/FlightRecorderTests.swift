import ICELite
import Testing
import TransportTestKit

@testable import Transport

@Suite("The flight recorder") struct FlightRecorderTests {
    /// A short recording with an outage in it.
    private func outage(window: Nanoseconds = .seconds(10)) -> [UInt8] {
        let recorder = FlightRecorder()
        var recovery = PathRecovery(
            isController: true, peerInterval: .milliseconds(100), window: window, now: .zero)
        recovery.record(on: recorder, now: .zero)
        var now = Instant.zero
        for _ in 0..<200 {
            now = now + .milliseconds(20)
            recovery.heard(now: now)
        }
        let end = now + .seconds(12)
        while recovery.nextDeadline < end {
            now = recovery.nextDeadline
            recovery.handleTimeout(now: now)
            while recovery.pollEffect() != nil {}
        }
        return recorder.recording()
    }

    /// `bytes` with its check sum made to fit.
    private func sealed(_ bytes: [UInt8]) -> [UInt8] {
        let body = bytes.dropLast(4)
        return body + FlightRecording.checkSum(of: body)
    }

    @Test("200 paths that break at random: the same decisions, with a recorder and without, and in the replay")
    func randomPaths() throws {
        var outages = 0
        for seed in 0..<UInt64(200) {
            let recorder = FlightRecorder()
            var path = RandomPath(seed: seed, recorder: recorder)
            path.run(seconds: 60)
            #expect(path.effects == path.bareEffects, "seed \(seed)")
            #expect(path.spins == 0, "seed \(seed)")
            outages += path.recovery.figures.outageCount
            let replay = try FlightReplay(recorder.recording())
            #expect(replay.divergences.isEmpty, "seed \(seed): \(String(describing: replay.divergences.first))")
            #expect(replay.largestLateness == 0, "seed \(seed)")
            #expect(replay.dropped == 0)
        }
        #expect(outages >= 400)
    }

    @Test("A long and bad call fills the ring: 64 KiB, the newest kept, replayed from the oldest state there is")
    func ring() throws {
        let recorder = FlightRecorder()
        var path = RandomPath(seed: 7, recorder: recorder)
        path.run(seconds: 3_000)
        let recording = recorder.recording()
        #expect(recording.count <= FlightRecording.largestSize)
        #expect(recording.count > 3 * FlightRecorder.segmentSize - 3 * 2_048)
        let replay = try FlightReplay(recording)
        #expect(replay.divergences.isEmpty)
        let first = try #require(replay.steps.first)
        #expect(first.what.hasPrefix("is "))
        #expect(first.at > .zero + .seconds(60), "the oldest is gone")
        let states = replay.steps.count { $0.what.hasPrefix("is ") }
        #expect(states == FlightRecorder.segmentCount)
    }

    @Test("A minute of a calm call with jitter adds nothing but what is learnt of the path when something happens")
    func calm() throws {
        let recorder = FlightRecorder()
        var recovery = PathRecovery(
            isController: true, peerInterval: .milliseconds(100), window: .seconds(10), now: .zero)
        recovery.record(on: recorder, now: .zero)
        var randomness = Randomness.seeded(1)
        var now = Instant.zero
        for _ in 0..<3_000 {
            now = now + .milliseconds(10) + Nanoseconds(randomness.next() % 20_000_000)
            recovery.heard(now: now)
            recovery.audioHeard(now: now)
            recovery.handleTimeout(now: now)
        }
        let before = recorder.recording().count
        #expect(before < 300)
        recovery.suspect(.hint, now: now)
        #expect(recorder.recording().count - before < 300)
        let replay = try FlightReplay(recorder.recording())
        #expect(replay.steps.contains { $0.what.hasPrefix("3000 packets since ") })
    }

    @Test("A changed byte is noticed, wherever it is; so is a recording that is cut or none at all")
    func damaged() throws {
        let recording = outage()
        #expect(try FlightReplay(recording).divergences.isEmpty)
        for index in recording.indices {
            var changed = recording
            changed[index] ^= 0x10
            #expect(throws: RecordError.self) { try FlightReplay(changed) }
        }
        for length in 0..<recording.count {
            #expect(throws: RecordError.self) { try FlightReplay(Array(recording.prefix(length))) }
        }
        #expect(throws: RecordError.version) { try FlightReplay([]) }
        #expect(FlightReplay.timeline(of: [1, 2, 3]).contains("cannot be read"))
    }

    @Test("Bytes changed on purpose, their check sum made to fit, are refused or replayed, and never trap")
    func mutations() {
        let recorder = FlightRecorder()
        var path = RandomPath(seed: 4, recorder: recorder)
        path.run(seconds: 20)
        var randomness = Randomness.seeded(99)
        var noticed = 0
        for recording in [outage(), recorder.recording()] {
            for _ in 0..<2_000 {
                var changed = recording
                for _ in 0...(randomness.next() % 4) {
                    changed[Int(randomness.next() % UInt64(changed.count))] = UInt8(
                        truncatingIfNeeded: randomness.next())
                }
                let replay = try? FlightReplay(sealed(changed))
                if replay?.divergences.isEmpty != true { noticed += 1 }
            }
        }
        #expect(noticed > 2_000)
    }

    /// The bytes that `write` makes.
    private func written(_ write: (inout RecordWriter) -> Void) -> [UInt8] {
        var writer = RecordWriter(epoch: .zero)
        write(&writer)
        return writer.bytes
    }

    /// The recording of an outage with other bytes in place of `old`, wherever they are.
    private func replacing(_ old: [UInt8], with new: [UInt8]) throws -> [UInt8] {
        var recording = outage()
        let places = recording.indices.filter { recording[$0...].starts(with: old) }
        try #require(!places.isEmpty && old.count == new.count)
        for place in places { recording.replaceSubrange(place..<(place + old.count), with: new) }
        return sealed(recording)
    }

    /// The peer's interval as what is learnt of a path begins with it, in its first slice of time.
    private func interval(_ length: Nanoseconds) -> [UInt8] {
        written { writer in
            writer.bool(true)
            writer.nanoseconds(length)
            writer.byte(0)
        }
    }

    @Test("A machine with another window decides otherwise, and the replay says where")
    func alteredWindow() throws {
        let replay = try FlightReplay(
            replacing(written { $0.nanoseconds(.seconds(10)) }, with: written { $0.nanoseconds(.seconds(9)) }))
        let divergence = try #require(replay.divergences.first)
        #expect(divergence.effects.contains("the window is over") || divergence.recorded == ["the window is over"])
        #expect(replay.timeline.contains("went another way than the call"))
    }

    @Test("A machine with another threshold is noticed: a longer one decides later, a shorter one would have sooner")
    func alteredThreshold() throws {
        let longer = try FlightReplay(replacing(interval(.milliseconds(100)), with: interval(.milliseconds(120))))
        let divergence = try #require(longer.divergences.first)
        #expect(divergence.effects.isEmpty && divergence.recorded?.first == "outage")
        let shorter = try FlightReplay(replacing(interval(.milliseconds(100)), with: interval(.milliseconds(85))))
        #expect(shorter.largestLateness == .milliseconds(50))
        #expect(shorter.timeline.contains("50 ms after its time"))
    }

    @Test("No text of the application's or the peer's is in a recording")
    func noSecrets() throws {
        let recorder = FlightRecorder()
        var policy = ClientPolicy(
            wanted: .auto, standard: false, hasMediaPath: true, recovery: .continueOnWebSocket,
            limits: TransportLimits())
        policy.recorder = recorder
        policy.start(now: .zero)
        policy.helloSent(now: .zero)
        policy.welcomed(.declined(word: "sekrit-word", detail: "sekrit-detail"), now: .zero)
        policy.fail("sekrit-message", now: .zero)
        let recording = recorder.recording()
        #expect(!String(decoding: recording, as: UTF8.self).contains("sekrit"))
        let replay = try FlightReplay(recording)
        #expect(replay.divergences.isEmpty)
        #expect(replay.timeline.contains("server_declined"))
        #expect(!replay.timeline.contains("sekrit"))
    }
}
