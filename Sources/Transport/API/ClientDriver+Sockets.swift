internal import ICELite
import TransportRuntime

// The UDP sockets of a call, the network they are on, and the names of STUN servers.

extension ClientDriver {
    /// How long a STUN server's name may take to resolve.
    private static let lookupPatience = Nanoseconds.seconds(5)

    // MARK: The network

    /// Opens the sockets, before the line is there, and follows the machine's addresses from now on.
    func watchNetwork(isLoopback: Bool) {
        self.isLoopback = isLoopback
        let monitor = NetworkMonitor(
            loop: loop,
            onChange: { [unowned self] addresses in
                updateSockets(addresses)
                tellSockets()
            }, onRouteChange: { [unowned self] in hintNetwork() })
        self.monitor = monitor
        updateSockets(monitor.addresses)
    }

    /// Loopback addresses only towards a loopback peer (RFC 8445 §5.1.1.1), which is known when the line is connected.
    func setLoopback(_ isLoopback: Bool) {
        guard isLoopback != self.isLoopback, let monitor else { return }
        self.isLoopback = isLoopback
        updateSockets(monitor.addresses)
    }

    /// Closes the sockets whose address is gone and opens those that are missing.
    func updateSockets(_ addresses: [NetworkInterfaces.Address]) {
        let chosen: [IPAddress]
        if let asked = settings.origin.address {
            // Used as it is: 127.0.0.3 is an address of this machine, and no interface names it.
            chosen = [asked]
        } else {
            let usable = addresses.filter { settings.origin.allows($0.ip.family) }
            let open = Set(sockets.map(\.localAddress.ip))
            chosen = NetworkInterfaces.selection(from: usable, isLoopback: isLoopback, open: open).map(\.ip)
        }
        for socket in sockets where !chosen.contains(socket.localAddress.ip) { close(socket) }
        for socket in freshSockets where !chosen.contains(socket.localAddress.ip) { close(socket) }
        freshSockets.removeAll { $0.fd < 0 }
        sockets = chosen.compactMap { ip in
            sockets.first { $0.fd >= 0 && $0.localAddress.ip == ip } ?? open(ip)
        }
    }

    /// Every open socket's address: those in use from the start first.
    var localAddresses: [SocketAddress] { sockets.map(\.localAddress) + freshSockets.map(\.localAddress) }

    func tellSockets() {
        call.networkChanged(to: localAddresses, now: loop.now)
        drain()
    }

    func open(_ ip: IPAddress) -> UDPSocket? {
        guard let socket = try? UDPSocket.open(bind: SocketAddress(ip: ip, port: 0)) else {
            // Gone already, which the monitor will say, or no descriptor is left: the call does with less.
            socketFailures += 1
            return nil
        }
        do throws(SocketError) {
            try loop.register(socket.fd, interest: .readable) { [unowned self] readiness in
                if readiness.contains(.error) { drainErrors(of: socket) }
                // What the errors decided may have closed the path and its sockets.
                if socket.fd >= 0 { receive(from: socket) }
            }
            return socket
        } catch {
            socket.close()
            socketFailures += 1
            return nil
        }
    }

    func close(_ socket: UDPSocket) {
        guard socket.fd >= 0 else { return }
        loop.unregister(socket.fd)
        socket.close()
    }

    /// The path is not needed any more: what it still says goes out, then every socket is closed.
    func closeSockets(now: Instant) {
        sendDatagrams(now: now)
        monitor?.stop()
        monitor = nil
        for lookup in lookups.values { lookup.cancel() }
        lookups.removeAll()
        for socket in sockets + freshSockets { close(socket) }
        sockets.removeAll()
        freshSockets.removeAll()
    }

    // MARK: Datagrams

    private func receive(from socket: UDPSocket) {
        let now = loop.now
        socket.receiveTurn(into: pool) { packet, remote, _ in
            var packet = packet
            let path = NetworkPath(local: socket.localAddress, remote: original(remote))
            call.receive(&packet, path: path, now: now)
        }
        drain()
    }

    private func drainErrors(of socket: UDPSocket) {
        let now = loop.now
        socket.drainErrors { error in
            guard let destination = error.destination else { return }
            call.sendFailed(
                path: NetworkPath(local: socket.localAddress, remote: original(destination)),
                failure: ICESendFailure(
                    errno: error.errno, icmpType: error.isLocal ? nil : error.icmpType,
                    icmpCode: error.isLocal ? nil : error.icmpCode, reporter: error.reporter),
                now: now)
        }
        drain()
    }

    /// The address the peer signalled, for one that a detour stands in for.
    private func original(_ address: SocketAddress) -> SocketAddress {
        guard settings.pathDetour != nil else { return address }
        return detours.first { $0.value == address }?.key ?? address
    }

    /// Where datagrams for `address` really go.
    func detour(_ address: SocketAddress) -> SocketAddress {
        guard let pathDetour = settings.pathDetour else { return address }
        if let known = detours[address] { return known }
        let detour = pathDetour(address) ?? address
        detours[address] = detour
        return detour
    }

    // MARK: STUN servers

    /// Looks a STUN server's name up, beside everything else.
    func resolve(_ server: STUNServer, now: Instant) {
        guard lookups[server] == nil, monitor != nil else { return }
        lookups[server] = Resolver.resolve(
            host: server.host, port: server.port, deadline: now + Self.lookupPatience, loop: loop
        ) { [unowned self] outcome in
            lookups[server] = nil
            call.serverResolved(server, to: (try? outcome.get()) ?? [], now: loop.now)
            drain()
        }
    }
}
