internal import Dispatch
internal import Synchronization

extension EventLoop {
    /// Runs `work` on the loop and waits for what it returns: for setting up and tearing down, never for a packet.
    ///
    /// - Returns: nil when the loop has been stopped. Called on the loop itself it runs at once.
    package func perform<R: Sendable>(_ work: @escaping @Sendable () -> R) -> R? {
        if isOnLoop { return work() }
        let done = DispatchSemaphore(value: 0)
        let result = PerformedWork<R>()
        guard
            submit({
                let value = work()
                result.value.withLock { $0 = value }
                done.signal()
            })
        else { return nil }
        done.wait()
        return result.value.withLock { $0 }
    }
}

private final class PerformedWork<R: Sendable>: Sendable {
    let value = Mutex<R?>(nil)
}
