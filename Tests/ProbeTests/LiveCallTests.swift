import Testing

@testable import graine_transport_probe

@Suite(.timeLimit(.minutes(1))) struct LiveCallTests {
    /// Two minutes of call in a suite that has one: who waits for the call's time runs out of the suite's.
    @Test func anInterruptedCallEndsBeforeItsTimeAndKeepsWhatWasHeard() async throws {
        let (interrupts, interrupt) = AsyncStream<Void>.makeStream()
        let plan = CallPlan(
            name: "call", target: nil, preference: .auto, impairment: ImpairmentSpec(), seed: 1, audio: [],
            duration: 120, key: nil, caFile: nil, insecure: false, family: .any, bind: nil, proxy: .off,
            proxyIsExplicit: false, keepsRecording: true)
        let progress = Progress(style: .plain) { if $0.contains("active") { interrupt.yield() } }
        let outcome = await CallRun(placer: LiveCallPlacer(), timeout: nil, interrupts: interrupts)
            .run([plan], progress: progress)
        #expect(outcome.abort == .interrupted)
        let result = try #require(outcome.results.first)
        #expect(result.wasActive)
        #expect(result.state == "ended")
        #expect(result.failure == nil)
        #expect(result.recording != nil)
    }
}
