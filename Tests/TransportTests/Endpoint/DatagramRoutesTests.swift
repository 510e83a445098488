import ICELite
import Testing

@testable import Transport

/// How an endpoint finds the call of a datagram: no sockets.
@Suite("An endpoint's routes") struct DatagramRoutesTests {
    private final class Owner {}

    private func path(_ port: UInt16) -> NetworkPath {
        NetworkPath(
            local: SocketAddress(ip: .loopbackV4, port: 4_000), remote: SocketAddress(ip: .loopbackV4, port: port))
    }

    /// Whose an RTP packet of the sender 7 is that comes on `path`.
    private func owner(of path: NetworkPath, in routes: DatagramRoutes<Owner>) -> Owner? {
        let media: [UInt8] = [0x80, 111, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7]
        return routes.owner(of: media.span.bytes, from: path)
    }

    @Test("However many tuples a call had, none is left once it is removed, and nothing keeps the call alive")
    func removesAll() {
        var routes = DatagramRoutes<Owner>()
        weak var gone: Owner?
        do {
            let owner = Owner()
            gone = owner
            routes.setUfrags(["old"], of: owner)
            routes.setUfrags(["one", "two"], of: owner)
            routes.setSSRC(6, of: owner)
            routes.setSSRC(7, of: owner)
            for port in 1...500 as ClosedRange<UInt16> { routes.bind(path(port), to: owner) }
            #expect(routes.count == DatagramRoutes<Owner>.pathLimit + 3)
            #expect(routes.owner(of: path(500)) === owner && routes.owner(of: path(1)) == nil)
            routes.remove(owner)
        }
        #expect(routes.count == 0)
        #expect(gone == nil)
    }

    @Test("A tuple that has become another call's stays that one's when the first forgets it or goes") func handedOver()
    {
        var routes = DatagramRoutes<Owner>()
        let (first, second) = (Owner(), Owner())
        routes.bind(path(1), to: first)
        routes.bind(path(1), to: second)
        for port in 2...40 as ClosedRange<UInt16> { routes.bind(path(port), to: first) }
        #expect(routes.owner(of: path(1)) === second)
        routes.remove(first)
        #expect(routes.owner(of: path(1)) === second && routes.count == 1)
        routes.bind(path(1), to: first)
        #expect(routes.owner(of: path(1)) === first)
    }

    @Test("Media of a tuple that is no call's is found by its sender, whom the first call keeps") func sender() {
        var routes = DatagramRoutes<Owner>()
        let (first, second) = (Owner(), Owner())
        routes.setSSRC(7, of: first)
        routes.setSSRC(7, of: second)
        #expect(owner(of: path(1), in: routes) === first)
        routes.bind(path(1), to: second)
        #expect(owner(of: path(1), in: routes) === second)
        routes.remove(second)
        #expect(owner(of: path(1), in: routes) === first)
    }
}
