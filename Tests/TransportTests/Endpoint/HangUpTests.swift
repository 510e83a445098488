import Testing
import TransportTestKit

/// A hang-up from either end in every state, over real sockets and a relay that makes each state last.
@Suite("Hang-ups on sockets", .timeLimit(.minutes(10))) struct HangUpTests {
    @Test("LIFE-01: both ends end, each with its own reason", arguments: HangUpCase.all)
    func ends(_ hangUp: HangUpCase) async throws {
        #expect(try await hangUp.run() == hangUp.expected)
    }

    @Test("LIFE-01: no hang-up leaves a descriptor or a thread behind")
    func leavesNothing() async {
        // In a process of its own: other suites have descriptors open, too.
        await #expect(processExitsWith: .success) {
            let first = HangUpCase(moment: .onWebRTC, actor: .client)
            #expect(try await first.run() == first.expected)
            let before = ProcessFigures.now()
            for hangUp in HangUpCase.all where [.client, .agent].contains(hangUp.actor) {
                let ends = try await hangUp.run()
                #expect(ends == hangUp.expected, "\(hangUp.testDescription)")
            }
            let isQuiet = await HangUpCase.comes { ProcessFigures.now().ownThreads == before.ownThreads }
            #expect(isQuiet, "\(before.ownThreads) threads before, \(ProcessFigures.now().ownThreads) after")
            let isClosed = await HangUpCase.comes { ProcessFigures.now().descriptors == before.descriptors }
            #expect(isClosed, "\(before.descriptors) before, open now: \(ProcessFigures.descriptorKinds())")
        }
    }

    @Test("Sixty calls leave neither descriptors nor threads nor sessions behind")
    func sixtyCalls() async {
        await #expect(processExitsWith: .success) {
            var plan = CallSoak.Plan()
            plan.warmUp = 8
            plan.calls = 60
            let result = try await CallSoak(plan).run { _, _ in }
            #expect(result.leaks(growthLimit: .max, heapLimit: 60 * 4_000) == [])
            #expect(result.onWebRTC == 34 && result.onWebSocket == 34)
        }
    }
}
