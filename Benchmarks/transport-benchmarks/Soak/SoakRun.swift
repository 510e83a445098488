internal import Transport
internal import TransportTestKit

/// `transport-benchmarks soak`: a thousand calls in this process; what they leave behind fails it.
enum SoakRun {
    /// Resident bytes that the counted calls may add to those after the warm-up.
    static let growthLimit = 5_000_000
    /// Bytes on the heap that each counted call may leave: ids that are kept for a minute, and what libraries settle at.
    static let heapLimitPerCall = 1_500

    static let usage = """
        transport-benchmarks soak [--calls N] [--side-by-side N] [--only webrtc|websocket]
          --calls N         calls in all, 200 to 1000000; the first 100 are not counted (default 1000)
          --side-by-side N  calls at one time, 1 to 64 (default 4)
          --only CARRIAGE   webrtc or websocket for all of them (default: in turn)
        """

    /// Runs it and returns the exit code: 0 when nothing is left behind, 1 when something is.
    static func run(_ arguments: [String]) async -> Int32 {
        guard let plan = plan(arguments) else {
            say(usage, toErrors: true)
            return 64
        }
        say("  calls  descriptors  threads (ours)  resident KiB  heap used KiB  heap reserved KiB", toErrors: false)
        let result: CallSoak.Result
        do {
            result = try await CallSoak(plan).run { calls, figures in
                say(line(calls + plan.warmUp, figures), toErrors: false)
            }
        } catch {
            say("error: \(error)", toErrors: true)
            return 71
        }
        let resident = ProcessFigures.now().residentBytes
        ProcessFigures.trimHeap()
        let trimmed = resident - ProcessFigures.now().residentBytes
        say(
            """
            \(result.onWebRTC) calls on WebRTC, \(result.onWebSocket) on the WebSocket; left: \(result.connections) \
            connections, \(result.sessions) sessions, \(result.agentCalls) agent's calls
            resident memory: \(result.after.residentBytes - result.before.residentBytes) bytes more than after \
            \(plan.warmUp) calls; \(trimmed) bytes at the end are free and only kept by the C library
            open now: \(ProcessFigures.descriptorKinds())
            """, toErrors: false)
        let leaks = result.leaks(growthLimit: growthLimit, heapLimit: heapLimitPerCall * plan.calls)
        for leak in leaks { say("error: \(leak)", toErrors: true) }
        return leaks.isEmpty ? 0 : 1
    }

    private static func plan(_ arguments: [String]) -> CallSoak.Plan? {
        var plan = CallSoak.Plan()
        plan.calls = 1_000 - plan.warmUp
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let text = rest.popFirst() else { return nil }
            if option == "--only", let carriage = TransportKind(rawValue: text) {
                plan.only = carriage
                continue
            }
            guard let number = Int(text) else { return nil }
            switch option {
            case "--calls" where (200...1_000_000).contains(number): plan.calls = number - plan.warmUp
            case "--side-by-side" where (1...64).contains(number): plan.sideBySide = number
            default: return nil
            }
        }
        return plan
    }

    private static func line(_ calls: Int, _ figures: ProcessFigures) -> String {
        func column(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        return column("\(calls)", 7) + column("\(figures.descriptors)", 13)
            + column("\(figures.threads) (\(figures.ownThreads))", 16) + column("\(figures.residentBytes / 1_024)", 14)
            + column("\(figures.heapBytes / 1_024)", 15) + column("\(figures.heapReserved / 1_024)", 19)
    }
}
