import Glibc
import ICELite
import Synchronization
import Testing

@testable import TransportRuntime

@Suite(.timeLimit(.minutes(10)))
struct EventLoopTests {
    @Test func workFromManyThreadsRunsOnceEachInTheOrderOfItsThread() async throws {
        try await withLoop { loop in
            let seen = Box<[[Int]]>(Array(repeating: [], count: 8))
            await withTaskGroup(of: Void.self) { group in
                for thread in 0..<8 {
                    group.addTask {
                        for index in 0..<1_000 { loop.submit { seen.value[thread].append(index) } }
                    }
                }
            }
            let result = await loop.run { seen.value }
            #expect(result.allSatisfy { $0 == Array(0..<1_000) })
        }
    }

    @Test func timersFireInTheOrderOfTheirDeadlinesAndACancelledOneDoesNot() async throws {
        try await withLoop { loop in
            let fired = Happenings<Int>()
            await loop.run {
                let start = loop.now
                loop.schedule(at: start + .milliseconds(12)) { fired.add(3) }
                loop.schedule(at: start + .milliseconds(4)) { fired.add(1) }
                let cancelled = loop.schedule(at: start + .milliseconds(6)) { fired.add(-1) }
                loop.schedule(at: start + .milliseconds(8)) { fired.add(2) }
                loop.cancel(cancelled)
                loop.cancel(cancelled)
            }
            #expect(await fired.next(3) == [1, 2, 3])
            #expect(await loop.run { loop.timerCount } == 0)
        }
    }

    @Test func aTimerThatArmsItselfInThePastLeavesTheLoopItsOtherWork() async throws {
        try await withLoop { loop in
            let timer = Box<TimerID?>(nil)
            await loop.run {
                let id = loop.makeTimer { if let id = timer.value { loop.arm(id, at: .zero) } }
                timer.value = id
                loop.arm(id, at: .zero)
            }
            #expect(await loop.run { loop.timerCount } == 1)
            await loop.run { if let id = timer.value { loop.cancel(id) } }
            #expect(await loop.run { loop.timerCount } == 0)
        }
    }

    @Test func aHandlerMayUnregisterAnotherWhoseTurnIsStillToComeInTheSameWakeUp() async throws {
        try await withLoop { loop in
            let calls = Happenings<Int32>()
            var pair: [Int32] = [-1, -1]
            #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
            let descriptors = pair
            try await loop.run {
                Result {
                    for fd in descriptors {
                        try loop.register(fd, interest: .writable) { _ in
                            calls.add(fd)
                            for other in descriptors { loop.unregister(other) }
                        }
                    }
                }
            }.get()
            _ = await calls.next()
            await loop.run {}
            let count = await loop.run { loop.registrationCount }
            #expect(count == 0)
            calls.add(-1)
            #expect(await calls.next() == -1)
            for fd in descriptors { close(fd) }
        }
    }

    @Test func aDescriptorNumberUsedAgainInTheSameWakeUpDoesNotInheritWhatWasReportedOfTheOldOne() async throws {
        try await withLoop { loop in
            var pair: [Int32] = [-1, -1]
            #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
            let descriptors = pair
            let calls = Happenings<String>()
            try await loop.run {
                Result {
                    for (fd, other) in [(descriptors[0], descriptors[1]), (descriptors[1], descriptors[0])] {
                        try loop.register(fd, interest: .writable) { _ in
                            calls.add("first")
                            loop.unregister(fd)
                            loop.unregister(other)
                            // Nothing to read in it, so nothing to be told.
                            try? loop.register(other, interest: .readable) { _ in calls.add("inherited") }
                        }
                    }
                }
            }.get()
            #expect(await calls.next() == "first")
            await loop.run { for fd in descriptors { loop.unregister(fd) } }
            calls.add("end")
            #expect(await calls.next() == "end")
            for fd in descriptors { close(fd) }
        }
    }

    @Test func stopRunsWhatWasSubmittedBeforeAndRefusesWhatComesAfter() throws {
        let loop = try EventLoop(name: "stop-test")
        let counter = Counter()
        for _ in 0..<100 { loop.submit { counter.add() } }
        loop.stop()
        loop.stop()
        #expect(counter.count == 100)
        #expect(!loop.submit { counter.add() })
    }

    @Test func aLoopMayBeStoppedFromItsOwnThread() async throws {
        let loop = try EventLoop(name: "self-stop")
        await loop.run { loop.stop() }
        while threads(named: "self-stop") > 0 { await Task.yield() }
        #expect(!loop.submit {})
    }

    @Test func loopsLeaveNeitherDescriptorNorThreadBehind() throws {
        let before = openDescriptors()
        for _ in 0..<200 {
            let loop = try EventLoop(name: "leak-test")
            loop.submit { loop.schedule(at: .never - 1) {} }
            loop.stop()
        }
        #expect(threads(named: "leak-test") == 0)
        // Other suites have descriptors open meanwhile; a leak would be 400.
        #expect(openDescriptors() < before + 100)
    }

    @Test func aHandlerIsReleasedWhenTheLoopStops() throws {
        let loop = try EventLoop(name: "release-test")
        weak var seen: Box<Int>?
        do {
            let box = Box(1)
            seen = box
            loop.submit { loop.schedule(at: .never - 1) { box.value += 1 } }
        }
        loop.stop()
        #expect(seen == nil)
    }
}

/// The loop's behaviour when it stood still, under a clock that only the test moves.
@Suite(.timeLimit(.minutes(10)))
struct EventLoopStallTests {
    private final class Clock: Sendable {
        private let value = Atomic<Int64>(1_000_000_000)
        var now: Instant { Instant(nanoseconds: value.load(ordering: .acquiring)) }
        func advance(_ length: Nanoseconds) { value.add(length, ordering: .acquiringAndReleasing) }
    }

    @Test(arguments: [true, false])
    func afterAStallSocketsGoBeforeTimersAndTimersByTheirDeadlines(isStall: Bool) async throws {
        let clock = Clock()
        let loop = try EventLoop(name: "stall-test") { clock.now }
        defer { loop.stop() }
        var pair: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        let (reader, writer) = (pair[0], pair[1])
        let order = Happenings<String>()
        let length = isStall ? EventLoop.stallLimit : EventLoop.stallLimit - 1
        await loop.run {
            loop.schedule(at: loop.now + .milliseconds(700)) { order.add("late") }
            loop.schedule(at: loop.now + .milliseconds(600)) { order.add("early") }
            try? loop.register(reader, interest: .readable) { _ in
                var byte: UInt8 = 0
                _ = read(reader, &byte, 1)
                order.add("socket")
                // Due before the others, whose wake-up it does not join.
                loop.schedule(at: .zero) { order.add("next") }
            }
            var byte: UInt8 = 1
            #expect(write(writer, &byte, 1) == 1)
            // The handler holds the loop for so long.
            clock.advance(length)
        }
        let expected = isStall ? ["socket", "next", "early", "late"] : ["early", "late", "socket", "next"]
        #expect(await order.next(4) == expected)
        let stall = await loop.run { (loop.stallCount, loop.lastStall) }
        #expect(stall.0 == (isStall ? 1 : 0))
        #expect(stall.1 == (isStall ? length : 0))
        await loop.run { loop.unregister(reader) }
        close(reader)
        close(writer)
    }

    @Test func aSleepThatWasTooLongIsAStall() async throws {
        let clock = Clock()
        let loop = try EventLoop(name: "stall-test") { clock.now }
        defer { loop.stop() }
        let fired = Happenings<Int>()
        _ = await loop.run { loop.schedule(at: loop.now + .milliseconds(600)) { fired.add(1) } }
        await loop.run {}
        // Asleep by now, or about to be.
        clock.advance(.seconds(5))
        #expect(await fired.next() == 1)
        let stall = await loop.run { (loop.stallCount, loop.lastStall) }
        #expect(stall.0 == 1)
        #expect(stall.1 == .milliseconds(4_400) || stall.1 == .seconds(5))
    }

    @Test func deadlinesLongPastAreNoStall() async throws {
        let clock = Clock()
        let loop = try EventLoop(name: "stall-test") { clock.now }
        defer { loop.stop() }
        let fired = Happenings<Int>()
        await loop.run { for index in 0..<5 { loop.schedule(at: .zero) { fired.add(index) } } }
        #expect(await fired.next(5) == [0, 1, 2, 3, 4])
        #expect(await loop.run { loop.stallCount } == 0)
    }
}

final class Counter: Sendable {
    private let value = Atomic<Int>(0)
    func add() { value.add(1, ordering: .relaxed) }
    var count: Int { value.load(ordering: .relaxed) }
}
