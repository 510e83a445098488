import ICELite
import Testing

@testable import TransportRuntime

struct TimerHeapTests {
    @Test(arguments: 0..<20 as Range<UInt64>)
    func agreesWithASortedListWhateverIsArmedMovedAndRemoved(seed: UInt64) {
        var random = Randomness.seeded(seed)
        var heap = TimerHeap()
        var model: [(id: TimerID, tag: Int, deadline: Int64, order: Int)] = []
        let fired = Box<[Int]>([])
        var order = 0
        for tag in 0..<400 {
            order += 1
            switch Int.random(in: 0..<4, using: &random) {
            case 0 where !model.isEmpty:
                let index = Int.random(in: 0..<model.count, using: &random)
                heap.remove(model.remove(at: index).id)
            case 1 where !model.isEmpty:
                let index = Int.random(in: 0..<model.count, using: &random)
                let deadline = Int64.random(in: 0..<100, using: &random)
                heap.arm(model[index].id, at: Instant(nanoseconds: deadline))
                model[index].deadline = deadline
                model[index].order = order
            default:
                let deadline = Int64.random(in: 0..<100, using: &random)
                let id = heap.add(repeats: false) { fired.value.append(tag) }
                heap.arm(id, at: Instant(nanoseconds: deadline))
                model.append((id, tag, deadline, order))
            }
            #expect(heap.count == model.count)
        }
        while let handler = heap.popDue(now: Instant(nanoseconds: 1_000), before: heap.horizon) { handler() }
        let expected = model.sorted { ($0.deadline, $0.order) < ($1.deadline, $1.order) }.map(\.tag)
        #expect(fired.value == expected)
        #expect(heap.count == 0)
        #expect(heap.earliest == .never)
    }

    @Test func anIDWhoseSlotIsUsedAgainIsHarmless() {
        var heap = TimerHeap()
        let old = heap.add(repeats: false) {}
        heap.remove(old)
        let new = heap.add(repeats: false) {}
        heap.arm(new, at: .zero)
        let isArmed = heap.arm(old, at: .zero + 5)
        #expect(!isArmed)
        heap.remove(old)
        #expect(heap.count == 1)
        #expect(heap.earliest == .zero)
    }
}
