import Testing
import Transport

@testable import graine_transport_probe

@Suite struct PumpTests {
    @Test func whatIsSaidGoesThroughTheEchoAndComesBack() async throws {
        let toAgent = PCMRing(minimumCapacity: 96_000)
        let toClient = PCMRing(minimumCapacity: 96_000)
        let speech = (0..<24_000).map { Int16($0 % 1_000) }
        let echo = Task { await EchoPump(received: toAgent, send: toClient).run() }
        let pump = SpeechPump(capture: toAgent, playout: toClient, audio: speech)
        let heard = await pump.run(for: .milliseconds(700))
        echo.cancel()
        await echo.value
        // 700 ms of frames went in (and the one that is due at the end); what came out is 300 ms late and halved.
        #expect(heard.count >= 20_000)
        #expect(heard.prefix(EchoProcessor.delaySamples).allSatisfy { $0 == 0 })
        for (index, sample) in heard.dropFirst(EchoProcessor.delaySamples).enumerated().prefix(4_000) {
            #expect(abs(Double(sample) - Double(speech[index]) * Double(EchoProcessor.gain)) <= 0.5)
        }
    }

    @Test func cancellingEndsThePumpAtOnce() async {
        let ring = PCMRing(minimumCapacity: 4_096)
        let pump = SpeechPump(capture: ring, playout: ring, audio: [])
        let task = Task { await pump.run(for: .seconds(3_600)) }
        task.cancel()
        _ = await task.value
    }
}
