internal import ICELite
internal import Transport
internal import TransportLine
internal import TransportRuntime

/// Looks up the address of a target.
enum TargetLookup {
    /// How long a lookup may take, seconds.
    static let patience: Int64 = 5

    /// The address that a call line's `url` would be dialled at first.
    ///
    /// - Parameter family: The only version of IP to use; nil: both.
    /// - Throws: `unreachable` when there is none, `interrupted` when the task is cancelled.
    static func address(of url: String, family: IPAddress.Family?) async throws(ProbeError) -> SocketAddress {
        let parsed: CallLineURL
        let loop: EventLoop
        do throws(CallLineURLError) { parsed = try CallLineURL(url) } catch { throw .usage("\(error)") }
        do throws(SocketError) { loop = try EventLoop(name: "probe-lookup") } catch { throw .resource("\(error)") }
        defer { loop.stop() }
        let (outcomes, continuation) = AsyncStream<Resolver.Outcome>.makeStream()
        loop.submit {
            _ = Resolver.resolve(
                host: parsed.host, port: parsed.port, deadline: loop.now + .seconds(patience), loop: loop
            ) { continuation.yield($0) }
        }
        for await outcome in outcomes {
            switch outcome {
            case .failure(let error): throw .unreachable("\(error)")
            case .success(let addresses):
                if let first = addresses.first(where: { family == nil || $0.ip.family == family }) { return first }
                throw .unreachable("\(ResolveError.noAddress(host: parsed.host, family: family ?? .v4))")
            }
        }
        throw .interrupted
    }
}
