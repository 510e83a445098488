import Glibc
import ICELite
import Testing

@testable import TransportRuntime

@Suite("The monitor of a machine's addresses", .timeLimit(.minutes(10))) struct NetworkMonitorTests {
    @Test("The first set is there at once, from the kernel's messages or by asking", arguments: [true, false])
    func first(listens: Bool) async throws {
        try await withLoop { loop in
            let found = await loop.run {
                let monitor = NetworkMonitor(loop: loop, listens: listens) { _ in }
                defer { monitor.stop() }
                return (monitor.addresses, monitor.isPolling, loop.registrationCount)
            }
            #expect(found.0.contains { $0.ip == .loopbackV4 && $0.isLoopback })
            #expect(found.1 == !listens)
            #expect(found.2 == (listens ? 1 : 0))
            #expect(await loop.run { loop.registrationCount + loop.timerCount } == 0)
        }
    }

    @Test("Both ways name the same addresses")
    func agree() async throws {
        try await withLoop { loop in
            let (told, asked) = await loop.run {
                let monitor = NetworkMonitor(loop: loop) { _ in }
                defer { monitor.stop() }
                return (Set(monitor.addresses.map(\.ip)), Set(NetworkInterfaces.all().map(\.ip)))
            }
            // Asking does not say which interfaces run, nor which addresses are tentative.
            #expect(told.isSubset(of: asked))
        }
    }

    /// In a network namespace of the loop's thread; nothing where that is not allowed.
    @Test("An address that comes and one that goes are told, whole")
    func changes() async throws {
        try await withLoop { loop in
            typealias Unshare = @convention(c) (Int32) -> Int32
            let symbol = try #require(dlsym(nil, "unshare"))
            let enter = unsafeBitCast(symbol, to: Unshare.self)
            let newNetwork: Int32 = 0x4000_0000
            guard await loop.run({ enter(newNetwork) == 0 && system("command -v ip >/dev/null") == 0 }) else { return }
            let told = Happenings<[String]>()
            let monitor = await loop.run {
                let monitor = NetworkMonitor(loop: loop) { told.add($0.map { "\($0.ip)" }) }
                return (Box(monitor), monitor.addresses.map { "\($0.ip)" })
            }
            #expect(monitor.1.isEmpty)
            _ = await loop.run { system("ip link set lo up && ip addr add 192.0.2.9/32 dev lo") }
            let up = await told.next() ?? []
            #expect(Set(up).isSuperset(of: ["127.0.0.1", "192.0.2.9"]))
            _ = await loop.run { system("ip addr del 192.0.2.9/32 dev lo") }
            let down = await told.next() ?? []
            #expect(down.contains("127.0.0.1") && !down.contains("192.0.2.9"))
            await loop.run { monitor.0.value.stop() }
        }
    }

    /// In a network namespace of the loop's thread; nothing where that is not allowed.
    @Test("A default route that goes by another interface, or goes, is told though the addresses stay")
    func defaultRoute() async throws {
        try await withLoop { loop in
            typealias Unshare = @convention(c) (Int32) -> Int32
            let symbol = try #require(dlsym(nil, "unshare"))
            let enter = unsafeBitCast(symbol, to: Unshare.self)
            let newNetwork: Int32 = 0x4000_0000
            let setUp =
                "ip link add va type veth peer name vb && ip addr add 192.0.2.2/24 dev va"
                + " && ip addr add 198.51.100.2/24 dev vb && ip link set va up && ip link set vb up"
                + " && ip route add default dev va metric 5"
            guard await loop.run({ enter(newNetwork) == 0 && system("\(setUp) 2>/dev/null") == 0 }) else { return }
            let told = Happenings<String>()
            let monitor = await loop.run {
                Box(
                    NetworkMonitor(
                        loop: loop, onChange: { _ in told.add("addresses") }, onRouteChange: { told.add("route") }))
            }
            // Link-local addresses are on their way.
            _ = await loop.run { system("ip link set lo up") }
            while await told.next() != "addresses" {}
            _ = await loop.run { system("ip route add 203.0.113.0/24 dev vb; ip route add default dev vb metric 9") }
            _ = await loop.run { system("ip route del default dev va metric 5") }
            var next = await told.next()
            while next == "addresses" { next = await told.next() }
            #expect(next == "route")
            _ = await loop.run { system("ip route del default dev vb metric 9") }
            next = await told.next()
            while next == "addresses" { next = await told.next() }
            #expect(next == "route")
            let counters = await loop.run {
                defer { monitor.value.stop() }
                return monitor.value.counters
            }
            #expect(counters.routes >= 3)
        }
    }
}
