internal import Glibc
internal import ICELite
internal import TransportRuntime

/// The sockets of an endpoint: for each address a TCP listener and a UDP socket, all listeners on one port and all UDP
/// sockets on one port.
struct EndpointSockets: Sendable {
    /// Tries for a port number that is free on every address, when any will do.
    static let portTries = 16

    private(set) var listeners: [TCPListener]
    private(set) var datagrams: [UDPSocket]

    /// The TCP port of the call lines.
    var linePort: UInt16 { listeners.first?.localAddress.port ?? 0 }
    /// The UDP port of the media paths.
    var udpPort: UInt16 { datagrams.first?.localAddress.port ?? 0 }

    /// Opens all of them or none. A port of 0 takes a free one.
    ///
    /// - Parameter onAccept: as `TCPListener`'s.
    /// - Throws: `.addressInUse`, or what else the system refuses.
    static func open(
        _ addresses: ListenAddresses, port: UInt16, udpPort: UInt16, loop: EventLoop,
        onAccept: @escaping @Sendable (_ fd: Int32, _ from: SocketAddress) -> Void
    ) throws(SocketError) -> EndpointSockets {
        let datagrams = try onePort(addresses, port: udpPort) { (address) throws(SocketError) in
            let socket = try UDPSocket.open(bind: address)
            return (socket, socket.localAddress.port)
        } close: {
            $0.close()
        }
        // Listeners belong to the loop and are made there.
        let made: Result<[TCPListener], SocketError>? = loop.perform {
            do throws(SocketError) {
                return .success(
                    try onePort(addresses, port: port) { (address) throws(SocketError) in
                        let listener = try TCPListener(bind: address, loop: loop, onAccept: onAccept)
                        return (listener, listener.localAddress.port)
                    } close: {
                        $0.close()
                    })
            } catch {
                return .failure(error)
            }
        }
        do throws(SocketError) {
            guard let made else { throw SocketError.system(call: "listen", errno: ECANCELED) }
            return EndpointSockets(listeners: try made.get(), datagrams: datagrams)
        } catch {
            for socket in datagrams { socket.close() }
            throw error
        }
    }

    /// Opens a socket on each address, all with the same port. When `port` is 0 the first takes a free one, and another is
    /// tried when a later address has that in use.
    static func onePort<Socket>(
        _ addresses: ListenAddresses, port: UInt16,
        open: (SocketAddress) throws(SocketError) -> (Socket, port: UInt16), close: (Socket) -> Void
    ) throws(SocketError) -> [Socket] {
        var tries = 1
        while true {
            var opened: [Socket] = []
            var number = port
            do throws(SocketError) {
                var missing: SocketError?
                for ip in addresses.ips {
                    do throws(SocketError) {
                        let (socket, taken) = try open(SocketAddress(ip: ip, port: number))
                        opened.append(socket)
                        number = taken
                    } catch {
                        guard addresses.optionalFamilies.contains(ip.family), isMissingFamily(error) else {
                            throw error
                        }
                        missing = error
                    }
                }
                if opened.isEmpty, let missing { throw missing }
                return opened
            } catch {
                for socket in opened { close(socket) }
                guard port == 0, !opened.isEmpty, case .addressInUse = error, tries < portTries else { throw error }
                tries += 1
            }
        }
    }

    private static func isMissingFamily(_ error: SocketError) -> Bool {
        switch error {
        case .addressNotAvailable, .system(_, EAFNOSUPPORT): true
        case .addressInUse, .tooManyOpenFiles, .system: false
        }
    }

    /// The socket that a datagram from `local` leaves by: the one bound to it, or its family's wildcard. Does not allocate.
    func socket(sendingFrom local: IPAddress) -> UDPSocket? {
        for socket in datagrams where socket.localAddress.ip == local { return socket }
        for socket in datagrams where socket.localAddress.ip.family == local.family {
            if socket.localAddress.ip.isUnspecified { return socket }
        }
        return nil
    }

    /// Takes no more lines. On the loop.
    mutating func closeListeners() {
        for listener in listeners { listener.close() }
        listeners = []
    }

    /// Closes every socket. On the loop.
    mutating func close(_ loop: EventLoop) {
        closeListeners()
        for socket in datagrams {
            loop.unregister(socket.fd)
            socket.close()
        }
        datagrams = []
    }
}
