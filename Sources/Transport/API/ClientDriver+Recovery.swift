internal import ICELite
import TransportRuntime

// What the driver does about a broken path: other ports, and another look at the network.

extension ClientDriver {
    /// Opens a second socket for each local address that has one only: a new port, for a NAT or a firewall that has taken
    /// against the old. At most twice `NetworkInterfaces.selectionLimit` are open.
    func openFreshSockets() {
        guard monitor != nil else { return }
        let known = freshSockets.count
        for socket in sockets where !freshSockets.contains(where: { $0.localAddress.ip == socket.localAddress.ip }) {
            if let fresh = open(socket.localAddress.ip) { freshSockets.append(fresh) }
        }
        freshSocketsOpened += freshSockets.count - known
        if freshSockets.count > known { tellSockets() }
    }

    /// The outage is over: of each address with two sockets the one stays that the call uses, else the old one.
    func closeUnusedSockets() {
        guard !freshSockets.isEmpty else { return }
        let used = call.localAddressesInUse
        for fresh in freshSockets {
            let old = sockets.firstIndex { $0.localAddress.ip == fresh.localAddress.ip }
            if let old, used.contains(fresh.localAddress), !used.contains(sockets[old].localAddress) {
                close(sockets[old])
                sockets[old] = fresh
            } else {
                close(fresh)
            }
        }
        freshSockets.removeAll()
        tellSockets()
    }

    /// The application says that the network may have changed: the addresses are asked for anew, and the path is checked.
    /// From any thread.
    func networkHint() {
        loop.submit {
            self.monitor?.rescan()
            self.hintNetwork()
        }
    }

    func hintNetwork() {
        call.networkHint(now: loop.now)
        drain()
    }

    /// Asks for the addresses anew where the loop stood still since the last time: messages may have been lost.
    func noticeStall() {
        guard loop.stallCount != stallsSeen else { return }
        stallsSeen = loop.stallCount
        monitor?.rescan()
    }
}
