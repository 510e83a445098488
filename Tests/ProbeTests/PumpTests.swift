import Testing
import Transport

@testable import graine_transport_probe

@Suite struct PumpTests {
    @Test func theSpeechIsWrittenFrameByFrameHoweverLateTheMachineIs() async {
        let capture = PCMRing(minimumCapacity: 96_000)
        let speech = (0..<24_000).map { Int16($0 % 1_000) }
        let pump = SpeechPump(capture: capture, playout: PCMRing(minimumCapacity: 1), audio: speech)
        let outcome = await pump.run(for: .milliseconds(600))
        #expect(outcome.lateness.tickCount > 0 && outcome.lateness.worst >= 0)
        var written: [Int16] = []
        SpeechPump.drain(capture, into: &written)
        // A frame at 0, 20, … 600 ms; the speech, then silence.
        #expect(written.count == 31 * SpeechPump.frameSamples)
        #expect(Array(written.prefix(speech.count)) == speech)
        #expect(written.dropFirst(speech.count).allSatisfy { $0 == 0 })
    }

    @Test func whatIsReceivedIsEchoedFromActiveOn() {
        let received = PCMRing(minimumCapacity: 96_000)
        let send = PCMRing(minimumCapacity: 96_000)
        func say(_ samples: [Int16]) { samples.withUnsafeBufferPointer { _ = received.write($0) } }
        say([Int16](repeating: 9_999, count: 960))
        var pump = EchoPump(received: received, send: send)
        var expected = EchoProcessor()
        expected.markActive()
        let speech = (0..<57_600).map { Int16($0 % 1_000) }
        for start in stride(from: 0, to: speech.count, by: 960) {
            say(Array(speech[start..<(start + 960)]))
            pump.step()
        }
        var heard: [Int16] = []
        SpeechPump.drain(send, into: &heard)
        var whole = speech
        expected.process(&whole)
        #expect(heard == whole)
    }

    @Test func cancellingEndsThePumpAtOnce() async {
        let ring = PCMRing(minimumCapacity: 4_096)
        let pump = SpeechPump(capture: ring, playout: ring, audio: [])
        let task = Task { await pump.run(for: .seconds(3_600)) }
        task.cancel()
        _ = await task.value
    }
}
