internal import Foundation

/// Places calls side by side under one deadline and one Ctrl-C.
struct CallRun: Sendable {
    struct Outcome: Sendable {
        /// In the order of the plans; those that never returned are failures.
        var results: [CallResult]
        var abort: Report.Abort?
    }

    private enum Event: Sendable {
        case finished(Int, CallResult)
        case stopped(Report.Abort?)
    }

    let placer: any CallPlacing
    /// Seconds for all; nil: none.
    let timeout: Double?
    /// Yields once for each Ctrl-C.
    let interrupts: AsyncStream<Void>

    /// Runs all plans; after an abort the calls are cancelled and what they know is kept.
    func run(_ plans: [CallPlan], progress: Progress, events: EventLog?) async -> Outcome {
        await withTaskGroup(of: Event.self) { group in
            for (index, plan) in plans.enumerated() {
                group.addTask {
                    let result = await place(plan, progress, events)
                    events?.add(result)
                    return .finished(index, result)
                }
            }
            if let timeout {
                group.addTask {
                    let slept: ()? = try? await Task.sleep(for: .seconds(timeout))
                    return .stopped(slept == nil ? nil : .timedOut)
                }
            }
            group.addTask {
                for await _ in interrupts { return .stopped(.interrupted) }
                return .stopped(nil)
            }
            var results = [CallResult?](repeating: nil, count: plans.count)
            var abort: Report.Abort?
            var open = plans.count
            while open > 0, let event = await group.next() {
                switch event {
                case .finished(let index, let result):
                    results[index] = result
                    open -= 1
                case .stopped(let reason):
                    guard let reason, abort == nil else { continue }
                    abort = reason
                    group.cancelAll()
                }
            }
            group.cancelAll()
            return Outcome(results: results.compactMap { $0 }, abort: abort)
        }
    }

    private func place(_ plan: CallPlan, _ progress: Progress, _ events: EventLog?) async -> CallResult {
        do throws(ProbeError) {
            var result = try await placer.place(plan) { moment in
                progress.note("\(plan.name): \(moment.text)")
                events?.add(moment, call: plan.name)
            }
            result.wasStopped = Task.isCancelled
            return result
        } catch {
            var result = CallResult(name: plan.name, preference: plan.preference)
            result.state = "ended"
            result.failure = error
            result.wasStopped = Task.isCancelled
            result.failureCode =
                switch error {
                case .refused: "refused"
                case .noPath: "not_active"
                case .interrupted, .timedOut: "aborted"
                case .unreachable: "network"
                default: nil
                }
            return result
        }
    }
}
