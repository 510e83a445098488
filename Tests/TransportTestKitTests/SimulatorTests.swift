import ICELite
import Testing
import TransportTestKit

@Suite("Simulator") struct SimulatorTests {
    @Test("Events run in the order of their times, and the clock shows each") func order() {
        let simulator = Simulator(seed: 1)
        var seen: [Int64] = []
        for time in [30, 10, 20, 10] as [Int64] {
            simulator.schedule(at: Instant(nanoseconds: time)) { seen.append(simulator.now.nanoseconds) }
        }
        #expect(simulator.run(until: Instant(nanoseconds: 25)) == .reached)
        #expect(seen == [10, 10, 20])
        #expect(simulator.now.nanoseconds == 25)
        #expect(simulator.pendingCount == 1)
        simulator.run(until: .never)
        #expect(seen == [10, 10, 20, 30])
        #expect(simulator.now.nanoseconds == 30)
    }

    private func orderOfEquals(seed: UInt64) -> ([Int], UInt64) {
        let simulator = Simulator(seed: seed)
        var seen: [Int] = []
        for index in 0..<16 { simulator.schedule(after: .milliseconds(1)) { seen.append(index) } }
        simulator.run(for: .milliseconds(1))
        return (seen, simulator.traceHash)
    }

    @Test("Equal times come in an order that the seed decides, the same each time") func seeds() {
        #expect(orderOfEquals(seed: 7) == orderOfEquals(seed: 7))
        #expect(orderOfEquals(seed: 7).0 != orderOfEquals(seed: 8).0)
        #expect(orderOfEquals(seed: 7).1 != orderOfEquals(seed: 8).1)
        #expect(orderOfEquals(seed: 8).0.sorted() == Array(0..<16))
    }

    @Test("A cancelled event does not run, and its token names no later one") func cancel() {
        let simulator = Simulator(seed: 1)
        var runs = 0
        let token = simulator.schedule(after: .seconds(1)) { runs += 1 }
        #expect(simulator.cancel(token))
        #expect(!simulator.cancel(token))
        simulator.run(for: .seconds(2))
        simulator.schedule(after: .seconds(1)) { runs += 10 }
        #expect(!simulator.cancel(token))
        simulator.run(for: .seconds(2))
        #expect(runs == 10)
    }

    @Test("An event of the past runs now, one for never does not run") func edges() {
        let simulator = Simulator(seed: 1)
        simulator.run(for: .seconds(1))
        var times: [Int64] = []
        simulator.schedule(at: .zero) { times.append(simulator.now.nanoseconds) }
        simulator.schedule(at: .never) { times.append(-1) }
        #expect(simulator.run(until: .never) == .reached)
        #expect(times == [1_000_000_000])
    }

    @Test("Work that schedules itself for now is found out") func stuck() {
        let simulator = Simulator(seed: 1)
        func again() { simulator.schedule(after: .zero, again) }
        again()
        #expect(simulator.run(for: .seconds(1)) == .stuck)
        simulator.schedule(after: .zero) { simulator.stop() }
        #expect(simulator.run(for: .seconds(1)) != .reached)
    }

    @Test("A random push, pop and cancel sequence agrees with a sorted list", arguments: [1, 2, 3] as [UInt64])
    func heapAgainstModel(seed: UInt64) {
        var random = Randomness.seeded(seed)
        var heap = EventHeap<Int>()
        var model: [(time: Int64, priority: UInt64, value: Int, token: EventToken)] = []
        for value in 0..<3_000 {
            switch random.next() % 4 {
            case 0, 1:
                let time = Int64(random.next() % 50)
                let priority = random.next() % 3
                let token = heap.push(value, at: Instant(nanoseconds: time), priority: priority)
                model.append((time, priority, value, token))
            case 2 where !model.isEmpty:
                let index = Int(random.next() % UInt64(model.count))
                let isCancelled = heap.cancel(model.remove(at: index).token)
                #expect(isCancelled)
            default:
                let limit = Int64(random.next() % 50)
                let expected = model.indices.min {
                    (model[$0].time, model[$0].priority, model[$0].value)
                        < (model[$1].time, model[$1].priority, model[$1].value)
                }
                let popped = heap.pop(notAfter: Instant(nanoseconds: limit))
                if let expected, model[expected].time <= limit {
                    let value = model.remove(at: expected).value
                    #expect(popped?.payload == value)
                } else {
                    #expect(popped == nil)
                }
            }
            #expect(heap.count == model.count)
        }
    }
}
