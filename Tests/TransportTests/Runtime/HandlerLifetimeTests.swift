import Glibc
import ICELite
import Testing

@testable import TransportRuntime

/// What a handler learns may end what it is the handler of: nothing is touched after that, and nothing is left behind.
@Suite("Ends inside handlers", .timeLimit(.minutes(10)))
struct HandlerLifetimeTests {
    /// Tells later whether an object is gone.
    final class Trace: @unchecked Sendable {
        weak var object: AnyObject?
        var isGone: Bool { object == nil }
    }

    @Test(arguments: [1, 2, 3, 40])
    func aSocketMayBeClosedByWhatItReceivesAndIsFreedWithItsHandler(count: Int) async throws {
        try await withLoop { loop in
            let pool = Box(PacketPool(size: 64))
            let trace = Trace()
            let seen = Happenings<[UInt8]>()
            let later = Happenings<SendResult>()
            try await loop.run {
                Result {
                    let socket = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
                    trace.object = socket
                    for index in 0..<UInt8(count) {
                        #expect(socket.send(octets(index).span.bytes, to: socket.localAddress) == .sent)
                    }
                    // The handler is the only owner, and lets the socket go while the socket is receiving.
                    try loop.register(socket.fd, interest: .readable) { _ in
                        var bytes: [UInt8] = []
                        socket.receive(into: pool.value) { packet, _, _ in
                            packet.bytes.withUnsafeBytes { bytes += $0 }
                            loop.unregister(socket.fd)
                            socket.close()
                        }
                        #expect(socket.receive(into: pool.value) { _, _, _ in } == 0)
                        socket.drainErrors { _ in Issue.record("a closed socket has no errors") }
                        later.add(socket.send(octets(9).span.bytes, to: socket.localAddress))
                        seen.add(bytes)
                    }
                }
            }.get()
            // What was read before it was closed may still come; nothing of the kernel's is read after that.
            let bytes = try #require(await seen.next())
            #expect((1...min(count, 2)).contains(bytes.count) && bytes == (0..<UInt8(bytes.count)).map(\.self))
            #expect(await later.next() == .failed(errno: EBADF))
            #expect(await loop.run { loop.registrationCount } == 0)
            #expect(await loop.run { pool.value.taken } == 0)
            #expect(await loop.run { trace.isGone })
        }
    }

    @Test func aSocketMayBeClosedByWhatItsErrorQueueSays() async throws {
        try await withLoop { loop in
            let pool = Box(PacketPool(size: 4))
            let trace = Trace()
            let seen = Happenings<Int>()
            try await loop.run {
                Result {
                    let gone = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
                    let closedAddress = gone.localAddress
                    gone.close()
                    let socket = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
                    trace.object = socket
                    try loop.register(socket.fd, interest: .readable) { readiness in
                        var errors = 0
                        if readiness.contains(.error) {
                            socket.drainErrors { _ in
                                errors += 1
                                loop.unregister(socket.fd)
                                socket.close()
                            }
                        }
                        // As a driver does, not knowing what the errors decided.
                        #expect(socket.receive(into: pool.value) { _, _, _ in } == 0)
                        seen.add(errors)
                    }
                    #expect(socket.send(octets(1).span.bytes, to: closedAddress) == .sent)
                }
            }.get()
            #expect(await seen.next() == 1)
            #expect(await loop.run { loop.registrationCount } == 0)
            #expect(await loop.run { trace.isGone })
        }
    }

    enum StreamEnd: CaseIterable { case abort, shutdown }

    @Test(arguments: StreamEnd.allCases, [false, true])
    func aStreamMayBeEndedAndFreedByTheBytesItBrings(end: StreamEnd, isSecured: Bool) async throws {
        try await withLoop { loop in
            let identity = try TLSIdentity.selfSigned(for: ["127.0.0.1"])
            let tls = isSecured ? try TLSContext(identity: identity) : nil
            let trust = isSecured ? try TLSContext(trust: .pem(identity.certificatePEM)) : nil
            let trace = Trace()
            let pieces = Happenings<Int>()
            let owned = Box<ByteStream?>(nil)
            let client = Box<ByteStream?>(nil)
            let listener = try await loop.run {
                Result {
                    try TCPListener(bind: SocketAddress(ip: .loopbackV4, port: 0), loop: loop) { fd, _ in
                        let stream = ByteStream(accepted: fd, tls: tls, deadline: loop.after(10), loop: loop)
                        owned.value = stream
                        trace.object = stream
                        stream.onBytes = { bytes in
                            pieces.add(bytes.byteCount)
                            switch end {
                            case .abort: owned.value?.abort()
                            case .shutdown: owned.value?.shutdown()
                            }
                            owned.value = nil
                        }
                    }
                }
            }.get()
            await loop.run {
                let stream = ByteStream.connect(
                    host: "127.0.0.1", port: listener.localAddress.port,
                    tls: trust.map { ByteStream.Security(context: $0) }, deadline: loop.after(10), loop: loop)
                client.value = stream
                stream.onEvent = { event in
                    switch event {
                    case .connected:
                        // More than one read's worth: the rest must not be given to who has ended.
                        let bytes = [UInt8](repeating: 7, count: 200_000)
                        _ = client.value?.write(bytes.span.bytes)
                    case .writable: break
                    case .closed:
                        client.value = nil
                        pieces.add(-1)
                    }
                }
            }
            #expect(try #require(await pieces.next()) > 0)
            #expect(await pieces.next() == -1)
            await loop.run { listener.close() }
            while await loop.run({ loop.registrationCount + loop.timerCount }) > 0 {}
            #expect(await loop.run { trace.isGone })
        }
    }

    @Test func aStreamMayBeAbortedByTheNewsThatItIsConnectedOrClosed() async throws {
        try await withLoop { loop in
            let accepted = Box<[ByteStream]>([])
            let listener = try await loop.run {
                Result {
                    try TCPListener(bind: SocketAddress(ip: .loopbackV4, port: 0), loop: loop) { fd, _ in
                        let stream = ByteStream(accepted: fd, tls: nil, deadline: loop.after(10), loop: loop)
                        stream.onEvent = { [unowned stream] event in
                            if case .closed = event { stream.abort() }
                        }
                        accepted.value.append(stream)
                    }
                }
            }.get()
            let trace = Trace()
            let seen = Happenings<Bool>()
            await loop.run {
                let stream = ByteStream.connect(
                    host: "127.0.0.1", port: listener.localAddress.port, tls: nil, deadline: loop.after(10), loop: loop)
                trace.object = stream
                // The handler is the only owner, and abort releases the handler.
                stream.onEvent = { event in
                    if case .connected = event {
                        stream.abort()
                        stream.abort()
                        seen.add(stream.isOpen)
                    } else {
                        Issue.record("an aborted stream tells nothing: \(event)")
                    }
                }
            }
            #expect(await seen.next() == false)
            await loop.run { listener.close() }
            while await loop.run({ loop.registrationCount + loop.timerCount }) > 0 {}
            #expect(await loop.run { trace.isGone })
        }
    }

    @Test func aListenerMayBeClosedByAConnectionWhileOthersWait() async throws {
        try await withLoop { loop in
            let listener = Box<TCPListener?>(nil)
            let trace = Trace()
            let accepted = Happenings<Int>()
            let clients = Box<[ByteStream]>([])
            let address = try await loop.run {
                Result {
                    let made = try TCPListener(bind: SocketAddress(ip: .loopbackV4, port: 0), loop: loop) { fd, _ in
                        Glibc.close(fd)
                        listener.value?.close()
                        listener.value?.close()
                        accepted.add(listener.value?.accepted ?? -1)
                        listener.value = nil
                    }
                    listener.value = made
                    trace.object = made
                    return made.localAddress
                }
            }.get()
            // Three knock within one turn of the loop; the listener is gone after the first.
            await loop.run {
                for _ in 0..<3 {
                    clients.value.append(
                        ByteStream.connect(
                            host: "127.0.0.1", port: address.port, tls: nil, deadline: loop.after(10), loop: loop))
                }
            }
            #expect(await accepted.next() == 1)
            await loop.run {
                for client in clients.value { client.abort() }
                clients.value = []
            }
            while await loop.run({ loop.registrationCount + loop.timerCount }) > 0 {}
            #expect(await loop.run { trace.isGone })
            accepted.add(-2)
            #expect(await accepted.next() == -2)
        }
    }

    @Test(arguments: [false, true])
    func aTimerMayCancelItselfAndOneThatIsDueInTheSameWakeUp(repeats: Bool) async throws {
        try await withLoop { loop in
            let fired = Happenings<String>()
            let ids = Box<[TimerID]>([])
            let trace = Trace()
            await loop.run {
                let held = Box(0)
                trace.object = held
                let make = { (name: String, body: @escaping () -> Void) in
                    let id = repeats ? loop.makeTimer(body) : loop.schedule(at: .zero, body)
                    if repeats { loop.arm(id, at: .zero) }
                    ids.value.append(id)
                }
                make("first") {
                    fired.add("first")
                    held.value += 1
                    for id in ids.value { loop.cancel(id) }
                    // Its slot is free and may be taken at once; the old id must not reach the new timer.
                    let next = loop.schedule(at: .zero) { fired.add("next") }
                    for id in ids.value { loop.cancel(id) }
                    #expect(!ids.value.contains(next))
                    // Still its own, although it is cancelled.
                    held.value += 1
                }
                make("second") { fired.add("second") }
            }
            #expect(await fired.next(2) == ["first", "next"])
            #expect(await loop.run { loop.timerCount } == 0)
            #expect(await loop.run { trace.isGone })
        }
    }
}
