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

    /// Which call after which.
    enum Order: Sendable {
        case sideBySide
        /// One after the other, so that none disturbs another's times; a first one that finds nobody ends the run.
        case inTurn
    }

    let placer: any CallPlacing
    /// Seconds for all; nil: none.
    let timeout: Double?
    /// Yields once for each Ctrl-C.
    let interrupts: AsyncStream<Void>
    var order = Order.sideBySide
    /// Lines of progress that calls in turn are worth where lines are not redrawn.
    static let progressLines = 20

    /// Runs all plans; after an abort the calls are cancelled, no further one is placed, and what they know is kept.
    func run(_ plans: [CallPlan], progress: Progress, events: EventLog?) async -> Outcome {
        await withTaskGroup(of: Event.self) { group in
            var next = 0
            func begin() {
                let (index, plan) = (next, plans[next])
                next += 1
                group.addTask {
                    let result = await place(plan, order == .inTurn ? nil : progress, events)
                    events?.add(result)
                    return .finished(index, result)
                }
            }
            for _ in 0..<(order == .inTurn ? min(1, plans.count) : plans.count) { begin() }
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
            var open = next
            while open > 0, let event = await group.next() {
                switch event {
                case .finished(let index, let result):
                    results[index] = result
                    open -= 1
                    guard order == .inTurn else { continue }
                    if progress.redraws || (index + 1).isMultiple(of: max(1, plans.count / Self.progressLines)) {
                        progress.note("\(index + 1) of \(plans.count): \(Self.short(result))")
                    }
                    guard next < plans.count, abort == nil, index > 0 || result.failure == nil else { continue }
                    begin()
                    open += 1
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

    private static func short(_ call: CallResult) -> String {
        if let active = call.setup.active, let transport = call.transport {
            return "\(transport.rawValue), active after \(Int(active.rounded())) ms"
        }
        return call.failure?.message ?? call.stage
    }

    /// - Parameter progress: nil when what happens within a call is not worth a line.
    private func place(_ plan: CallPlan, _ progress: Progress?, _ events: EventLog?) async -> CallResult {
        do throws(ProbeError) {
            var result = try await placer.place(plan) { moment in
                progress?.note("\(plan.name): \(moment.text)")
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
