import Glibc
package import ICELite

/// What one address of a connection attempt answered.
package struct AddressFailure: Hashable, Sendable {
    /// The address that was tried.
    package var address: SocketAddress
    /// Why it failed; `ETIMEDOUT` when the deadline came first.
    package var errno: Int32
}

/// Why no TCP connection came about.
package enum ConnectError: Error, Equatable, Sendable {
    /// Every address refused or failed, each with its `errno`.
    case allFailed([AddressFailure])
    /// The deadline came; the addresses that had not answered are among the failures, with `ETIMEDOUT`.
    case timedOut([AddressFailure])
}

extension ConnectError: CustomStringConvertible {
    /// A sentence without its full stop.
    package var description: String {
        let list = { (failures: [AddressFailure]) in
            failures.map { "\($0.address): \(System.message($0.errno))" }.joined(separator: "; ")
        }
        switch self {
        case .allFailed(let failures): return failures.isEmpty ? "there is no address to connect to" : list(failures)
        case .timedOut(let failures): return "connecting took too long (\(list(failures)))"
        }
    }
}

/// Connects to the first of several addresses that answers: a new one is tried every 250 ms, or as soon as one fails
/// (RFC 8305 §5). Confined to its loop.
package final class TCPConnector {
    /// A descriptor that the caller now owns, and the address it reached; or why there is none.
    package typealias Outcome = Result<(fd: Int32, remote: SocketAddress), ConnectError>

    /// RFC 8305 §5, Connection Attempt Delay.
    package static let stagger = Nanoseconds.milliseconds(250)

    private let loop: EventLoop
    private let local: IPAddress?
    private var untried: ArraySlice<SocketAddress>
    private var attempts: [(fd: Int32, remote: SocketAddress)] = []
    private var failures: [AddressFailure] = []
    private var completion: ((Outcome) -> Void)?
    private var deadlineTimer: TimerID?
    private var staggerTimer: TimerID?

    /// Starts to connect. Called on the loop, and so is `completion`, once, later than this call returns.
    ///
    /// - Parameter local: the address to connect from; nil leaves it to the system.
    package static func connect(
        to addresses: [SocketAddress], from local: IPAddress? = nil, deadline: Instant, loop: EventLoop,
        completion: @escaping (Outcome) -> Void
    ) -> TCPConnector {
        loop.preconditionOnLoop()
        let connector = TCPConnector(addresses: addresses, local: local, loop: loop, completion: completion)
        connector.deadlineTimer = loop.schedule(at: deadline) { connector.timeOut() }
        connector.staggerTimer = loop.makeTimer { connector.tryNext() }
        connector.armStagger(at: loop.now)
        return connector
    }

    private init(
        addresses: [SocketAddress], local: IPAddress?, loop: EventLoop, completion: @escaping (Outcome) -> Void
    ) {
        untried = addresses[...]
        self.local = local
        self.loop = loop
        self.completion = completion
    }

    /// Gives up: closes every attempt and releases `completion` without calling it.
    package func cancel() {
        loop.preconditionOnLoop()
        completion = nil
        for attempt in attempts {
            loop.unregister(attempt.fd)
            System.close(attempt.fd)
        }
        attempts = []
        for timer in [deadlineTimer, staggerTimer].compactMap({ $0 }) { loop.cancel(timer) }
        deadlineTimer = nil
        staggerTimer = nil
    }

    private func armStagger(at instant: Instant) {
        if let staggerTimer { loop.arm(staggerTimer, at: instant) }
    }

    private func tryNext() {
        guard completion != nil else { return }
        while let address = untried.popFirst() {
            let number = start(address)
            if number == 0 {
                armStagger(at: loop.now + Self.stagger)
                return
            }
            failures.append(AddressFailure(address: address, errno: number))
        }
        failIfDone()
    }

    /// 0 when the attempt is under way, else its `errno`.
    private func start(_ address: SocketAddress) -> Int32 {
        do throws(SocketError) {
            let fd = try System.socket(address.ip.family, stream: true)
            let result = System.connect(fd, to: address, from: local)
            guard result == 0 || result == -EINPROGRESS else {
                System.close(fd)
                return -result
            }
            do throws(SocketError) {
                try loop.register(fd, interest: .writable) { [unowned self] _ in settle(fd) }
            } catch {
                System.close(fd)
                return ENOMEM
            }
            attempts.append((fd, address))
            return 0
        } catch {
            if case .system(_, let number) = error { return number }
            return EMFILE
        }
    }

    private func settle(_ fd: Int32) {
        guard let index = attempts.firstIndex(where: { $0.fd == fd }) else { return }
        let attempt = attempts.remove(at: index)
        loop.unregister(fd)
        let number = System.pendingError(fd)
        if number == 0 {
            finish(.success((fd, attempt.remote)))
        } else {
            System.close(fd)
            failures.append(AddressFailure(address: attempt.remote, errno: number))
            if untried.isEmpty { failIfDone() } else { tryNext() }
        }
    }

    private func failIfDone() {
        if untried.isEmpty, attempts.isEmpty { finish(.failure(.allFailed(failures))) }
    }

    private func timeOut() {
        let silent = attempts.map { AddressFailure(address: $0.remote, errno: ETIMEDOUT) }
        finish(.failure(.timedOut(failures + silent)))
    }

    private func finish(_ outcome: Outcome) {
        guard let completion else { return }
        cancel()
        completion(outcome)
    }
}
