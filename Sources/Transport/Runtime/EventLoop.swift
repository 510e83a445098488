import CLinux
import Glibc
package import ICELite
import Synchronization

/// One thread that waits for sockets, timers and work, and owns everything that is registered with it.
///
/// Only `submit`, `stop`, `isOnLoop` and `preconditionOnLoop` may be called from another thread.
///
/// `@unchecked Sendable`: `inbox` is guarded by its `Mutex`, the thread's id is atomic, everything else belongs to the
/// loop's thread, which `preconditionOnLoop` checks.
package final class EventLoop: @unchecked Sendable {
    /// What a file descriptor is watched for. Errors and hang-ups are always reported.
    package struct Interest: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        /// Something to read, or the peer's end of the stream.
        package static let readable = Interest(rawValue: EPOLLIN.rawValue | EPOLLRDHUP.rawValue)
        /// Room to write.
        package static let writable = Interest(rawValue: EPOLLOUT.rawValue)
    }

    /// What a file descriptor was found to be. Level-triggered: what is not dealt with is reported again.
    package struct Readiness: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        /// Something to read.
        package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
        /// Room to write.
        package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
        /// An error waits: `SO_ERROR`, or an entry in the error queue.
        package static let error = Readiness(rawValue: EPOLLERR.rawValue)
        /// Both directions are closed.
        package static let hangUp = Readiness(rawValue: EPOLLHUP.rawValue)
        /// The peer sends no more.
        package static let peerClosed = Readiness(rawValue: EPOLLRDHUP.rawValue)
    }

    /// Longest sleep while a timer is armed: the poll's clock stands still while the machine is suspended.
    package static let longestSleep = Nanoseconds.seconds(1)
    /// A wake-up this much later than it should be is a stall: the process was stopped, the machine slept, or a handler
    /// held the loop.
    package static let stallLimit = Nanoseconds.seconds(1)
    /// Descriptors looked at in one wake-up.
    package static let readyLimit: Int32 = 64
    /// Bytes in each of the two scratch buffers that streams read into.
    static let scratchSize = 65_536

    private struct Registration {
        var generation: UInt32 = 0
        var interest: Interest = []
        var handler: ((Readiness) -> Void)?
    }

    private struct Inbox {
        var work: [@Sendable () -> Void] = []
        var isStopping = false
        var isJoined = false
        var isClosed = false
    }

    /// The time of this wake-up. Read on the loop.
    package private(set) var now: Instant
    /// File descriptors registered now, less the loop's own.
    package private(set) var registrationCount = 0
    /// Timers there are now, armed or not.
    package var timerCount: Int { timers.count }
    /// Wake-ups so far.
    package private(set) var wakeUps = 0
    /// Stalls so far. In the wake-up after one descriptors go before timers, so that what came meanwhile counts first.
    /// Read on the loop; who compares it with what it saw last learns of each.
    package private(set) var stallCount = 0
    /// How long the loop stood still in the last stall.
    package private(set) var lastStall: Nanoseconds = 0

    private let clock: @Sendable () -> Instant
    private let inbox = Mutex(Inbox())
    private let threadID = Atomic<UInt>(0)
    private var thread: pthread_t = 0
    private let epoll: Int32
    private let wakeFD: Int32
    private var registrations: [Registration] = []
    private var nextGeneration: UInt32 = 1
    private var timers = TimerHeap()
    private var spare: [@Sendable () -> Void] = []
    /// Ciphertext, or plain bytes from the kernel. Used within one call of a handler.
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: EventLoop.scratchSize, alignment: 64)
    /// Plaintext. Used within one call of a handler.
    let plainScratch = UnsafeMutableRawBufferPointer.allocate(byteCount: EventLoop.scratchSize, alignment: 64)

    /// Starts the thread. The loop lives, and runs, until `stop`.
    ///
    /// - Parameters:
    ///   - name: the thread's name, at most 15 bytes.
    ///   - clock: tells the time; another one is for tests.
    /// - Throws: when the system has no descriptor or thread left.
    package init(
        name: String = "graine-loop", clock: @escaping @Sendable () -> Instant = { MonotonicClock.now() }
    ) throws(SocketError) {
        self.clock = clock
        now = clock()
        epoll = try System.epollCreate()
        do throws(SocketError) {
            wakeFD = try System.eventCounter()
        } catch {
            System.close(epoll)
            throw error
        }
        let added = System.epollControl(epoll, EPOLL_CTL_ADD, wakeFD, events: EPOLLIN.rawValue, token: Self.wakeToken)
        let started = added == 0 ? start(name: name) : -added
        guard started == 0 else {
            System.close(wakeFD)
            System.close(epoll)
            throw SocketError(call: "pthread_create", errno: started)
        }
    }

    deinit {
        scratch.deallocate()
        plainScratch.deallocate()
    }

    // MARK: - From any thread

    /// True on the loop's own thread.
    package var isOnLoop: Bool { threadID.load(ordering: .acquiring) == UInt(pthread_self()) }

    /// Traps unless called on the loop's own thread.
    package func preconditionOnLoop() { precondition(isOnLoop, "call this on the event loop's thread") }

    /// Runs `work` on the loop, after what was submitted before. From any thread, the loop's own included (then it runs
    /// later, not at once). False, and nothing will run, when the loop has been stopped.
    @discardableResult
    package func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
        inbox.withLock { inbox in
            guard !inbox.isStopping else { return false }
            inbox.work.append(work)
            if inbox.work.count == 1 { System.signal(wakeFD) }
            return true
        }
    }

    /// Ends the loop: what was submitted before still runs, then every handler is released and the thread ends.
    ///
    /// From another thread it waits for that end; on the loop's own thread it returns at once and the thread ends after
    /// the present wake-up. Registered descriptors stay open: they are their owners'. Further calls do nothing.
    package func stop() {
        let mustJoin = inbox.withLock { inbox in
            if !inbox.isClosed { System.signal(wakeFD) }
            inbox.isStopping = true
            defer { inbox.isJoined = true }
            return !inbox.isJoined
        }
        guard mustJoin else { return }
        if isOnLoop { pthread_detach(thread) } else { pthread_join(thread, nil) }
    }

    // MARK: - Descriptors

    /// Watches `fd`. The handler runs on the loop and is kept until `unregister`; the descriptor stays the caller's.
    ///
    /// - Throws: when the system refuses; the descriptor is then not registered.
    package func register(
        _ fd: Int32, interest: Interest, handler: @escaping (Readiness) -> Void
    ) throws(SocketError) {
        preconditionOnLoop()
        precondition(fd >= 0 && handlerIndex(fd) == nil, "a descriptor is registered once")
        let generation = nextGeneration
        nextGeneration = nextGeneration == .max ? 1 : nextGeneration + 1
        let token = UInt64(generation) << 32 | UInt64(fd)
        let result = System.epollControl(epoll, EPOLL_CTL_ADD, fd, events: interest.rawValue, token: token)
        guard result == 0 else { throw SocketError(call: "epoll_ctl", errno: -result) }
        while registrations.count <= Int(fd) { registrations.append(Registration()) }
        registrations[Int(fd)] = Registration(generation: generation, interest: interest, handler: handler)
        registrationCount += 1
    }

    /// Changes what `fd` is watched for. Nothing happens when it is not registered or the interest is the same.
    package func modify(_ fd: Int32, interest: Interest) {
        preconditionOnLoop()
        guard let index = handlerIndex(fd), registrations[index].interest != interest else { return }
        registrations[index].interest = interest
        let token = UInt64(registrations[index].generation) << 32 | UInt64(fd)
        _ = System.epollControl(epoll, EPOLL_CTL_MOD, fd, events: interest.rawValue, token: token)
    }

    /// Forgets `fd` and releases its handler, also when its turn in this wake-up is still to come. Call it before closing
    /// the descriptor. Nothing happens when it is not registered.
    package func unregister(_ fd: Int32) {
        preconditionOnLoop()
        guard let index = handlerIndex(fd) else { return }
        _ = System.epollControl(epoll, EPOLL_CTL_DEL, fd, events: 0, token: 0)
        registrations[index] = Registration()
        registrationCount -= 1
    }

    // MARK: - Timers

    /// Runs `handler` once when `deadline` has come. Not before the next wake-up, also when it has passed already.
    @discardableResult
    package func schedule(at deadline: Instant, _ handler: @escaping () -> Void) -> TimerID {
        preconditionOnLoop()
        let id = timers.add(repeats: false, handler: handler)
        timers.arm(id, at: deadline)
        return id
    }

    /// A timer that is not armed yet and stays after it has fired: for deadlines that move with each packet, as arming
    /// it allocates nothing.
    package func makeTimer(_ handler: @escaping () -> Void) -> TimerID {
        preconditionOnLoop()
        return timers.add(repeats: true, handler: handler)
    }

    /// Moves a timer to `deadline`; `.never` disarms it. False when it is gone.
    @discardableResult
    package func arm(_ timer: TimerID, at deadline: Instant) -> Bool {
        preconditionOnLoop()
        return timers.arm(timer, at: deadline)
    }

    /// Removes a timer and releases its handler. Harmless when it is gone.
    package func cancel(_ timer: TimerID) {
        preconditionOnLoop()
        timers.remove(timer)
    }

    // MARK: - The thread

    private static let wakeToken: UInt64 = .max

    /// 0, or the `errno` of `pthread_create`. Every signal is blocked on the new thread: they are the application's.
    private func start(name: String) -> Int32 {
        let retained = Unmanaged.passRetained(ThreadStart(loop: self, name: name))
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        let result = pthread_create(&thread, nil, runEventLoop, retained.toOpaque())
        pthread_sigmask(SIG_SETMASK, &before, nil)
        if result != 0 { retained.release() }
        return result
    }

    fileprivate func run(name: String) {
        threadID.store(UInt(pthread_self()), ordering: .releasing)
        clinux_name_thread(name)
        withUnsafeTemporaryAllocation(of: clinux_ready.self, capacity: Int(Self.readyLimit)) { ready in
            while wakeUp(ready) {}
        }
        registrations.removeAll()
        registrationCount = 0
        timers = TimerHeap()
        inbox.withLock { inbox in
            inbox.isClosed = true
            System.close(wakeFD)
        }
        System.close(epoll)
    }

    /// One wake-up. False when it was the last.
    private func wakeUp(_ ready: UnsafeMutableBufferPointer<clinux_ready>) -> Bool {
        let began = timers.earliest == .never ? nil : clock()
        let length = sleep(from: began)
        let count = clinux_epoll_wait(epoll, ready.baseAddress, Self.readyLimit, length)
        let before = now
        now = clock()
        wakeUps &+= 1
        let found = ready.prefix(Int(max(0, count)))
        if let began, noteStall(since: before, asleepFrom: began, for: length) {
            // A timer that a handler arms in the past waits for the next wake-up here, too.
            let horizon = timers.horizon
            let mayGoOn = dispatch(found)
            fireTimers(before: horizon)
            return mayGoOn
        }
        fireTimers(before: timers.horizon)
        return dispatch(found)
    }

    /// Whether the loop stood still, in its handlers since it woke at `before` or in its sleep.
    private func noteStall(since before: Instant, asleepFrom began: Instant, for length: Nanoseconds) -> Bool {
        let stood = max(began - before, now - (began + length))
        guard stood >= Self.stallLimit else { return false }
        stallCount &+= 1
        lastStall = stood
        return true
    }

    /// False when it was the last wake-up.
    private func dispatch(_ found: Slice<UnsafeMutableBufferPointer<clinux_ready>>) -> Bool {
        var isStopping = false
        for entry in found {
            if entry.token == Self.wakeToken {
                isStopping = runSubmitted()
            } else {
                dispatch(entry)
            }
        }
        return !isStopping
    }

    /// How long to sleep; -1, without an end, where no timer is armed.
    private func sleep(from began: Instant?) -> Nanoseconds {
        guard let began else { return -1 }
        return min(max(0, timers.earliest - began), Self.longestSleep)
    }

    private func fireTimers(before horizon: UInt64) {
        while let handler = timers.popDue(now: now, before: horizon) { handler() }
    }

    private func dispatch(_ entry: clinux_ready) {
        let index = Int(entry.token & 0xFFFF_FFFF)
        guard index < registrations.count, registrations[index].generation == UInt32(entry.token >> 32),
            let handler = registrations[index].handler
        else { return }
        handler(Readiness(rawValue: entry.events))
    }

    /// Runs what was submitted; true when the loop is to end.
    private func runSubmitted() -> Bool {
        System.drain(wakeFD)
        let isStopping = inbox.withLock { inbox in
            swap(&inbox.work, &spare)
            return inbox.isStopping
        }
        for work in spare { work() }
        spare.removeAll(keepingCapacity: true)
        return isStopping
    }

    private func handlerIndex(_ fd: Int32) -> Int? {
        fd >= 0 && Int(fd) < registrations.count && registrations[Int(fd)].handler != nil ? Int(fd) : nil
    }
}

/// What the new thread is handed.
private final class ThreadStart {
    let loop: EventLoop
    let name: String

    init(loop: EventLoop, name: String) {
        self.loop = loop
        self.name = name
    }
}

/// The thread's first function: global, so that it belongs to no actor.
private func runEventLoop(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    start.loop.run(name: start.name)
    return nil
}
