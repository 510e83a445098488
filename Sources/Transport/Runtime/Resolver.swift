import CLinux
import Glibc
package import ICELite
import Synchronization

/// Looks up host names on a thread of its own for each lookup, off the loop.
///
/// `getaddrinfo` cannot be called off: a lookup that is abandoned leaves its thread to end by itself, and nothing else.
///
/// `@unchecked Sendable`: confined to the loop; the thread only holds the reference to hand it back.
package final class Resolver: @unchecked Sendable {
    /// What a lookup ends with: addresses in the order to try them, the families in turn (RFC 8305 §4).
    package typealias Outcome = Result<[SocketAddress], ResolveError>

    /// Lookup threads in the process at one time.
    package static let concurrentLimit = 16
    /// Addresses kept of one answer.
    package static let addressLimit = 16

    private static let running = Atomic<Int>(0)

    /// Lookup threads that run now, abandoned ones included.
    package static var runningCount: Int { running.load(ordering: .relaxed) }

    private let loop: EventLoop
    private let host: String
    private var completion: ((Outcome) -> Void)?
    private var timer: TimerID?

    /// Looks `host` up. Called on the loop, and so is `completion`, once, later than this call returns.
    ///
    /// A literal IPv4 or IPv6 address, also in brackets, is its own answer at once.
    package static func resolve(
        host: String, port: UInt16, deadline: Instant, loop: EventLoop, completion: @escaping (Outcome) -> Void
    ) -> Resolver {
        loop.preconditionOnLoop()
        let lookup = Resolver(loop: loop, host: host, completion: completion)
        if let literal = literal(host) {
            loop.submit { lookup.finish(.success([SocketAddress(ip: literal, port: port)])) }
            return lookup
        }
        guard running.add(1, ordering: .relaxed).newValue <= concurrentLimit else {
            running.subtract(1, ordering: .relaxed)
            loop.submit { lookup.finish(.failure(.busy)) }
            return lookup
        }
        lookup.timer = loop.schedule(at: deadline) { lookup.finish(.failure(.timedOut(host: host))) }
        let request = LookupRequest(host: host, port: port, loop: loop, lookup: lookup)
        if !request.start() {
            running.subtract(1, ordering: .relaxed)
            loop.submit { lookup.finish(.failure(.failed(host: host, detail: "no thread"))) }
        }
        return lookup
    }

    /// The address that `host` spells, with or without brackets; nil when it is a name.
    package static func literal(_ host: String) -> IPAddress? {
        if host.hasPrefix("["), host.hasSuffix("]") { return IPAddress(host.dropFirst().dropLast()) }
        return IPAddress(host)
    }

    private init(loop: EventLoop, host: String, completion: @escaping (Outcome) -> Void) {
        self.loop = loop
        self.host = host
        self.completion = completion
    }

    /// Abandons the lookup: `completion` is released and not called any more.
    package func cancel() {
        loop.preconditionOnLoop()
        completion = nil
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    fileprivate func finish(_ outcome: Outcome) {
        guard let completion else { return }
        cancel()
        completion(outcome)
    }

    fileprivate static func threadEnded() { running.subtract(1, ordering: .relaxed) }
}

/// What a lookup's thread is handed.
private final class LookupRequest {
    let host: String
    let port: UInt16
    let loop: EventLoop
    let lookup: Resolver

    init(host: String, port: UInt16, loop: EventLoop, lookup: Resolver) {
        self.host = host
        self.port = port
        self.loop = loop
        self.lookup = lookup
    }

    /// Starts a detached thread; false when the system has none.
    func start() -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        var thread: pthread_t = 0
        let retained = Unmanaged.passRetained(self)
        guard pthread_create(&thread, &attributes, runLookup, retained.toOpaque()) == 0 else {
            retained.release()
            return false
        }
        return true
    }

    /// The corresponding C function is `getaddrinfo`.
    func run() {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &first)
        defer { if code == 0 { freeaddrinfo(first) } }
        let outcome: Resolver.Outcome
        switch code {
        case 0:
            let addresses = collect(first)
            outcome = addresses.isEmpty ? .failure(.notFound(host: host)) : .success(addresses)
        case EAI_NONAME, -5:  // -5 is EAI_NODATA, which the standard does not name.
            outcome = .failure(.notFound(host: host))
        case EAI_AGAIN: outcome = .failure(.temporary(host: host, detail: String(cString: gai_strerror(code))))
        default: outcome = .failure(.failed(host: host, detail: String(cString: gai_strerror(code))))
        }
        Resolver.threadEnded()
        let lookup = lookup
        loop.submit { lookup.finish(outcome) }
    }

    private func collect(_ first: UnsafeMutablePointer<addrinfo>?) -> [SocketAddress] {
        var all: [SocketAddress] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ai_next
            guard var address = SocketAddress(UnsafePointer(entry.ai_addr), length: entry.ai_addrlen) else { continue }
            address.port = port
            if !all.contains(address) { all.append(address) }
        }
        let preferred = all.filter { $0.ip.family == all.first?.ip.family }
        let other = all.filter { $0.ip.family != all.first?.ip.family }
        var mixed: [SocketAddress] = []
        for index in 0..<max(preferred.count, other.count) {
            if index < preferred.count { mixed.append(preferred[index]) }
            if index < other.count { mixed.append(other[index]) }
        }
        return Array(mixed.prefix(Resolver.addressLimit))
    }
}

/// A lookup thread's first function: global, so that it belongs to no actor.
private func runLookup(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<LookupRequest>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
