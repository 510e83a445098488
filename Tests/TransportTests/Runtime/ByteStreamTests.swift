import COpenSSL
import Foundation
import Glibc
import ICELite
import Testing

@testable import TransportRuntime

@Suite(.timeLimit(.minutes(10)))
struct ByteStreamTests {
    /// What a test sees of a stream.
    enum Seen: Sendable {
        case connected(ByteStream.Timing)
        case bytes([UInt8])
        case writable
        case closed(StreamError?)
    }

    /// A stream whose events are kept.
    final class Watched: @unchecked Sendable {
        let seen = Happenings<Seen>()
        let stream: ByteStream

        init(_ stream: ByteStream) {
            self.stream = stream
            stream.onEvent = { [seen] event in
                switch event {
                case .connected(let timing): seen.add(.connected(timing))
                case .writable: seen.add(.writable)
                case .closed(let error): seen.add(.closed(error))
                }
            }
            stream.onBytes = { [seen] bytes in seen.add(.bytes(bytes.withUnsafeBytes { Array($0) })) }
        }

        /// The next `count` bytes, whatever pieces they come in.
        func bytes(_ count: Int) async -> [UInt8] {
            var all: [UInt8] = []
            while all.count < count, let next = await seen.next() {
                switch next {
                case .bytes(let bytes): all += bytes
                case .closed: return all
                case .connected, .writable: break
                }
            }
            return all
        }

        /// How it ended.
        func end() async -> StreamError?? {
            while let next = await seen.next() { if case .closed(let error) = next { return .some(error) } }
            return nil
        }

        func timing() async -> ByteStream.Timing? {
            if case .connected(let timing)? = await seen.next() { return timing }
            return nil
        }
    }

    /// Sends back what comes, as far as there is room; what there is no room for waits.
    final class Echo: @unchecked Sendable {
        let listener: TCPListener
        private var streams: [ObjectIdentifier: ByteStream] = [:]

        init(on ip: IPAddress, tls: TLSContext?, loop: EventLoop) throws {
            let accept = Box<((Int32) -> Void)?>(nil)
            listener = try TCPListener(bind: SocketAddress(ip: ip, port: 0), loop: loop) { fd, _ in
                if let take = accept.value { take(fd) } else { Glibc.close(fd) }
            }
            accept.value = { [unowned self] fd in
                let stream = ByteStream(accepted: fd, tls: tls, deadline: loop.now + .seconds(60), loop: loop)
                let id = ObjectIdentifier(stream)
                streams[id] = stream
                let queue = Box<[UInt8]>([])
                let send = { [unowned stream] in
                    queue.value.removeFirst(stream.write(queue.value.span.bytes))
                }
                stream.onBytes = { bytes in
                    queue.value += bytes.withUnsafeBytes { Array($0) }
                    send()
                }
                stream.onEvent = { [unowned self] event in
                    switch event {
                    case .connected: break
                    case .writable: send()
                    case .closed: streams[id] = nil
                    }
                }
            }
        }

        func stop() {
            for stream in streams.values { stream.abort() }
            streams = [:]
            listener.close()
        }
    }

    private func connect(
        _ loop: EventLoop, to host: String, port: UInt16, trust: TLSContext?, within seconds: Double = 10
    ) async -> Watched {
        await loop.run {
            Watched(
                ByteStream.connect(
                    host: host, port: port, tls: trust.map { ByteStream.Security(context: $0) },
                    deadline: loop.after(seconds), loop: loop))
        }
    }

    private func echo(_ loop: EventLoop, on ip: IPAddress = .loopbackV4, tls: TLSContext?) async throws -> Echo {
        try await loop.run { Result { try Echo(on: ip, tls: tls, loop: loop) } }.get()
    }

    @Test(arguments: IPAddress.loopbacks, [false, true])
    func bytesComeBackThroughAnEcho(ip: IPAddress, isSecured: Bool) async throws {
        try await withLoop { loop in
            let identity = try TLSIdentity.selfSigned(for: ["\(ip)"])
            let server = try await echo(loop, on: ip, tls: isSecured ? TLSContext(identity: identity) : nil)
            let trust = isSecured ? try TLSContext(trust: .pem(identity.certificatePEM)) : nil
            let client = await connect(loop, to: "\(ip)", port: server.listener.localAddress.port, trust: trust)
            let timing = try #require(await client.timing())
            #expect(timing.connected != nil)
            #expect((timing.secured != nil) == isSecured)
            #expect(await loop.run { client.stream.write(octets(1, 2, 3).span.bytes) } == 3)
            #expect(await client.bytes(3) == [1, 2, 3])
            #expect(await loop.run { client.stream.tlsVersion } == (isSecured ? "TLSv1.3" : nil))
            await loop.run { client.stream.shutdown() }
            #expect(await client.end() == .some(nil))
            await loop.run { server.stop() }
            #expect(await loop.run { loop.registrationCount } == 0)
            #expect(await loop.run { loop.timerCount } == 0)
        }
    }

    @Test(arguments: [false, true])
    func aFullKernelPushesBackAndNothingIsLostOrReordered(isSecured: Bool) async throws {
        try await withLoop { loop in
            let identity = try TLSIdentity.selfSigned(for: ["127.0.0.1"])
            let server = try await echo(loop, tls: isSecured ? TLSContext(identity: identity) : nil)
            let trust = isSecured ? try TLSContext(trust: .pem(identity.certificatePEM)) : nil
            let client = await connect(loop, to: "127.0.0.1", port: server.listener.localAddress.port, trust: trust)
            _ = await client.timing()
            var random = Randomness.seeded(5)
            let sent = random.bytes(2 << 20)
            let offset = Box(0)
            let pushedBack = Box(0)
            let got = Box<[UInt8]>([])
            let done = Happenings<Bool>()
            await loop.run {
                got.value.reserveCapacity(sent.count)
                let offer = { [unowned stream = client.stream] in
                    offset.value += stream.write(sent.span.bytes.extracting(offset.value..<sent.count))
                }
                client.stream.onBytes = { bytes in
                    bytes.withUnsafeBytes { got.value += $0 }
                    if got.value.count == sent.count { done.add(true) }
                }
                client.stream.onEvent = { event in
                    if case .writable = event {
                        pushedBack.value += 1
                        offer()
                    }
                }
                offer()
            }
            #expect(await done.next() == true)
            #expect(await loop.run { got.value == sent })
            #expect(await loop.run { pushedBack.value } > 0)
            await loop.run {
                client.stream.abort()
                server.stop()
            }
        }
    }

    /// A listener whose streams are watched and do nothing by themselves.
    private func watch(
        _ loop: EventLoop, _ identity: TLSIdentity
    ) async throws -> (listener: TCPListener, accepted: Happenings<Watched>) {
        let context = try TLSContext(identity: identity)
        let accepted = Happenings<Watched>()
        let listener = try await loop.run {
            Result {
                try TCPListener(bind: SocketAddress(ip: .loopbackV4, port: 0), loop: loop) { fd, _ in
                    let stream = ByteStream(accepted: fd, tls: context, deadline: loop.after(60), loop: loop)
                    accepted.add(Watched(stream))
                }
            }
        }.get()
        return (listener, accepted)
    }

    @Test("What TLS answers by itself goes out with nothing written behind it: no_renegotiation (RFC 5246 §7.2.2)")
    func aRenegotiationIsDeclined() async throws {
        try await withLoop { loop in
            let (listener, accepted) = try await watch(loop, TLSIdentity.selfSigned(for: ["127.0.0.1"]))
            let context = try #require(SSL_CTX_new(TLS_client_method()))
            _ = SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
            let peer = try #require(SSL_new(context))
            let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer {
                SSL_free(peer)
                SSL_CTX_free(context)
                close(fd)
            }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = listener.localAddress.port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let isConnected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            try #require(isConnected && SSL_set_fd(peer, fd) == 1 && SSL_connect(peer) == 1)
            let server = try #require(await accepted.next())
            _ = await server.timing()
            var waiting = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
            #expect(poll(&waiting, 1, 0) == 0, "nothing is left of the handshake")
            // It says so, and does not wait for the answer.
            _ = fcntl(fd, F_SETFL, O_NONBLOCK)
            #expect(SSL_renegotiate(peer) == 1 && SSL_do_handshake(peer) != 1)
            #expect(poll(&waiting, 1, 10_000) == 1)
            await loop.run {
                server.stream.abort()
                listener.close()
            }
        }
    }

    @Test("The last record goes out whole, though the kernel had no room for its end and nothing is written behind it")
    func theLastRecordGoesOutWhole() async throws {
        try await withLoop { loop in
            let identity = try TLSIdentity.selfSigned(for: ["127.0.0.1"])
            let (listener, accepted) = try await watch(loop, identity)
            let trust = try TLSContext(trust: .pem(identity.certificatePEM))
            let client = await connect(loop, to: "127.0.0.1", port: listener.localAddress.port, trust: trust)
            _ = await client.timing()
            let server = try #require(await accepted.next())
            _ = await server.timing()
            let record = [UInt8](repeating: 7, count: TLSEngine.recordLimit)
            // A peer that does not read fills the kernel, until of a record that was taken whole the end waits.
            let written = await loop.run {
                server.stream.pauseReading()
                var written = 0
                while true {
                    let sent = client.stream.bytesSent
                    let taken = client.stream.write(record.span.bytes)
                    written += taken
                    if taken < record.count || client.stream.bytesSent - sent < record.count { return written }
                }
            }
            #expect(written.isMultiple(of: record.count))
            await loop.run { server.stream.resumeReading() }
            #expect(await server.bytes(written).count == written)
            await loop.run {
                client.stream.abort()
                server.stream.abort()
                listener.close()
            }
        }
    }

    @Test func pausedReadingHoldsThePeerBackAndUnacknowledgedBytesAreCounted() async throws {
        try await withLoop { loop in
            let server = try await echo(loop, tls: nil)
            let client = await connect(loop, to: "127.0.0.1", port: server.listener.localAddress.port, trust: nil)
            _ = await client.timing()
            await loop.run { client.stream.pauseReading() }
            #expect(await loop.run { client.stream.write(octets(7).span.bytes) } == 1)
            await loop.run { client.stream.resumeReading() }
            #expect(await client.bytes(1) == [7])
            while await loop.run({ client.stream.unacknowledgedBytes }) > 0 { await Task.yield() }
            #expect(await loop.run { client.stream.unsentBytes } == 0)
            await loop.run {
                client.stream.abort()
                server.stop()
            }
        }
    }

    @Test func aWrongHostNameAndAnUntrustedAuthorityAreRefused() async throws {
        try await withLoop { loop in
            let identity = try TLSIdentity.selfSigned(for: ["voice.example"])
            let server = try await echo(loop, tls: TLSContext(identity: identity))
            let port = server.listener.localAddress.port
            let trusting = try TLSContext(trust: .pem(identity.certificatePEM))
            let wrong = await connect(loop, to: "127.0.0.1", port: port, trust: trusting)
            let mismatch = TLSError.hostMismatch(host: "127.0.0.1", certificateNames: "voice.example")
            #expect(await wrong.end() == .some(.tls(mismatch)))
            let system = try TLSContext(trust: .system)
            let untrusted = await connect(loop, to: "127.0.0.1", port: port, trust: system)
            #expect(await untrusted.end() == .some(.tls(.unknownAuthority(isSelfSigned: true))))
            await loop.run { server.stop() }
        }
    }

    @Test func tlsMayBeginOnAnOpenStream() async throws {
        try await withLoop { loop in
            let identity = try TLSIdentity.selfSigned(for: ["voice.example"])
            let server = try await echo(loop, tls: TLSContext(identity: identity))
            let trust = try TLSContext(trust: .pem(identity.certificatePEM))
            let client = await connect(loop, to: "127.0.0.1", port: server.listener.localAddress.port, trust: nil)
            _ = await client.timing()
            await loop.run {
                client.stream.startTLS(.init(context: trust, host: "voice.example"), deadline: loop.after(60))
            }
            #expect(await client.timing()?.secured != nil)
            #expect(await loop.run { client.stream.write(octets(4).span.bytes) } == 1)
            #expect(await client.bytes(1) == [4])
            await loop.run {
                client.stream.abort()
                server.stop()
            }
        }
    }

    @Test func aRefusedConnectionSaysWhichAddressRefused() async throws {
        try await withLoop { loop in
            let listener = try await loop.run {
                Result { try TCPListener(bind: SocketAddress(ip: .loopbackV4, port: 0), loop: loop) { _, _ in } }
            }.get()
            await loop.run { listener.close() }
            let address = listener.localAddress
            let client = await connect(loop, to: "127.0.0.1", port: address.port, trust: nil)
            let failure = AddressFailure(address: address, errno: ECONNREFUSED)
            #expect(await client.end() == .some(.connect(.allFailed([failure]))))
        }
    }

    @Test func aSilentServerMeetsTheDeadlineInTheHandshake() async throws {
        try await withLoop { loop in
            let held = Box<[Int32]>([])
            let listener = try await loop.run {
                Result {
                    try TCPListener(bind: SocketAddress(ip: .loopbackV4, port: 0), loop: loop) { fd, _ in
                        held.value.append(fd)
                    }
                }
            }.get()
            let trust = try TLSContext(trust: .insecure)
            let client = await connect(
                loop, to: "127.0.0.1", port: listener.localAddress.port, trust: trust, within: 0.05)
            #expect(await client.end() == .some(.timedOut(.tls)))
            await loop.run {
                listener.close()
                for fd in held.value { close(fd) }
            }
        }
    }

    @Test func theSecondAddressIsTriedWhenTheFirstRefuses() async throws {
        try await withLoop { loop in
            let listener = try await loop.run {
                Result {
                    try TCPListener(bind: SocketAddress(ip: .loopbackV4, port: 0), loop: loop) { fd, _ in close(fd) }
                }
            }.get()
            let good = listener.localAddress
            let bad = SocketAddress(ip: IPAddress(v4: 0x7F00_0009), port: good.port)
            let reached = Happenings<SocketAddress?>()
            await loop.run {
                _ = TCPConnector.connect(to: [bad, good], deadline: loop.after(60), loop: loop) { outcome in
                    guard case .success(let connection) = outcome else { return reached.add(nil) }
                    close(connection.fd)
                    reached.add(connection.remote)
                }
            }
            #expect(await reached.next() == good)
            await loop.run { listener.close() }
            #expect(await loop.run { loop.registrationCount + loop.timerCount } == 0)
        }
    }

    @Test func namesResolveOnTheLoopAndAnAbandonedLookupIsNotHeardOf() async throws {
        try await withLoop { loop in
            let outcomes = Happenings<Resolver.Outcome>()
            await loop.run {
                let abandoned = Resolver.resolve(host: "localhost", port: 1, deadline: loop.after(60), loop: loop) {
                    outcomes.add($0)
                }
                abandoned.cancel()
                _ = Resolver.resolve(host: "[::1]", port: 2, deadline: loop.after(60), loop: loop) { outcomes.add($0) }
            }
            #expect(await outcomes.next() == .success([SocketAddress(ip: .loopbackV6, port: 2)]))
            await loop.run {
                _ = Resolver.resolve(host: "localhost", port: 3, deadline: loop.after(60), loop: loop) {
                    outcomes.add($0)
                }
            }
            let addresses = try #require(await outcomes.next()).get()
            #expect(addresses.contains(SocketAddress(ip: .loopbackV4, port: 3)))
            await loop.run {
                _ = Resolver.resolve(host: "localhost", port: 4, deadline: .zero, loop: loop) { outcomes.add($0) }
            }
            _ = await outcomes.next()
            #expect(await loop.run { loop.timerCount } == 0)
        }
    }

    @Test func aBusyPortIsNamed() async throws {
        try await withLoop { loop in
            let error = await loop.run { () -> (SocketAddress, SocketError?)? in
                let address = SocketAddress(ip: .loopbackV4, port: 0)
                guard let first = try? TCPListener(bind: address, loop: loop, onAccept: { _, _ in }) else { return nil }
                defer { first.close() }
                do throws(SocketError) {
                    try TCPListener(bind: first.localAddress, loop: loop) { _, _ in }.close()
                    return (first.localAddress, nil)
                } catch {
                    return (first.localAddress, error)
                }
            }
            let (address, refusal) = try #require(error)
            #expect(refusal == .addressInUse(address))
        }
    }

    @Test func twoHundredConnectionsLeaveNoDescriptorBehind() async throws {
        try await withLoop { loop in
            let identity = try TLSIdentity.selfSigned(for: ["127.0.0.1"])
            let server = try await echo(loop, tls: TLSContext(identity: identity))
            let trust = try TLSContext(trust: .pem(identity.certificatePEM))
            let before = openDescriptors()
            for index in 0..<200 {
                let client = await connect(loop, to: "127.0.0.1", port: server.listener.localAddress.port, trust: trust)
                if index % 4 == 0 {
                    await loop.run { client.stream.abort() }
                } else {
                    _ = await client.timing()
                    await loop.run { index % 2 == 0 ? client.stream.abort() : client.stream.shutdown() }
                    if index % 2 == 1 { #expect(await client.end() == .some(nil)) }
                }
            }
            await loop.run { server.stop() }
            #expect(await loop.run { loop.registrationCount } == 0)
            #expect(await loop.run { loop.timerCount } == 0)
            #expect(openDescriptors() < before + 100)
        }
    }
}
