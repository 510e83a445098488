import ICELite
import Testing

@testable import Transport
@testable import TransportRuntime

/// Second sockets of a call's local addresses, on loopback.
@Suite("Fresh sockets of a call", .timeLimit(.minutes(5))) struct FreshSocketTests {
    private func place(_ site: LoopbackCallTests.Site) async throws -> ClientDriver {
        let driver = try ClientDriver(
            settings: try ClientDriver.Settings(site.configuration()), capture: PCMRing(minimumCapacity: 48_000),
            playout: PCMRing(minimumCapacity: 48_000), shared: CallShared(messageLimit: 8))
        driver.start()
        let isActive = await become(driver) { $0.call.state == .active && !$0.call.localAddressesInUse.isEmpty }
        #expect(isActive)
        return driver
    }

    private func become(_ driver: ClientDriver, _ condition: @escaping @Sendable (ClientDriver) -> Bool) async -> Bool {
        for _ in 0..<6_000 {
            if await driver.loop.run({ condition(driver) }) { return true }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return false
    }

    @Test("Each local address gets one more port, once, and what carries nothing is closed again")
    func openAndClose() async throws {
        let site = try LoopbackCallTests.Site()
        let driver = try await place(site)
        await driver.loop.run {
            let loop = driver.loop
            let before = driver.localAddresses
            let registered = loop.registrationCount
            #expect(!before.isEmpty)
            driver.openFreshSockets()
            driver.openFreshSockets()
            let fresh = driver.freshSockets.map(\.localAddress)
            #expect(fresh.map(\.ip) == before.map(\.ip))
            #expect(Set(fresh).isDisjoint(with: before))
            #expect(driver.freshSocketsOpened == before.count)
            #expect(loop.registrationCount == registered + before.count)
            let candidates = driver.call.carriages.readPath { $0.localCandidates.map(\.address) } ?? []
            #expect(Set(candidates).isSuperset(of: before + fresh))
            // They live as long as their address does.
            driver.updateSockets(driver.monitor?.addresses ?? [])
            #expect(driver.localAddresses == before + fresh)
            driver.closeUnusedSockets()
            #expect(driver.localAddresses == before)
            #expect(loop.registrationCount == registered)
            // Its address goes.
            driver.openFreshSockets()
            driver.updateSockets([])
            #expect(driver.localAddresses.isEmpty && driver.freshSockets.isEmpty)
            #expect(loop.registrationCount == registered - before.count)
            driver.updateSockets(driver.monitor?.addresses ?? [])
            #expect(driver.localAddresses.map(\.ip) == before.map(\.ip))
        }
        driver.end(failure: nil)
    }

    @Test("Where the old port has gone deaf the fresh one carries the call, and takes the old one's place")
    func takesOver() async throws {
        let site = try LoopbackCallTests.Site()
        let driver = try await place(site)
        let old = await driver.loop.run {
            for socket in driver.sockets { driver.loop.unregister(socket.fd) }
            driver.openFreshSockets()
            return driver.sockets.map(\.localAddress)
        }
        let moved = await become(driver) { driver in
            guard driver.call.localAddressesInUse.first.map(old.contains) == true else { return true }
            driver.call.carriages.path?.full?.probe(now: driver.loop.now)
            driver.call.handleTimeout(now: driver.loop.now)
            driver.drain()
            return false
        }
        #expect(moved)
        let heard = await driver.loop.run {
            driver.closeUnusedSockets()
            let used = driver.call.localAddressesInUse
            #expect(!used.isEmpty && used.allSatisfy(driver.sockets.map(\.localAddress).contains))
            #expect(driver.freshSockets.isEmpty)
            #expect(driver.sockets.count == old.count)
            return driver.call.snapshot(startedAt: .zero, now: driver.loop.now).audio.packetsReceivedOnPath
        }
        #expect(
            await become(driver) {
                $0.call.snapshot(startedAt: .zero, now: $0.loop.now).audio.packetsReceivedOnPath > heard + 20
            })
        #expect(await driver.loop.run { driver.call.state == .active })
        driver.end(failure: nil)
    }

    @Test("A hint, and a loop that stood still, have the machine's addresses asked for anew")
    func looksAgain() async throws {
        let site = try LoopbackCallTests.Site()
        let driver = try await place(site)
        guard await driver.loop.run({ driver.monitor?.isPolling == false }) else { return driver.end(failure: nil) }
        let first = await driver.loop.run { driver.monitor?.counters.dumps ?? 0 }
        driver.networkHint()
        #expect(await become(driver) { $0.monitor?.counters.dumps == first + 2 })
        await driver.loop.run {
            driver.stallsSeen -= 1
            driver.drain()
            driver.drain()
        }
        #expect(await become(driver) { $0.monitor?.counters.dumps == first + 4 })
        driver.end(failure: nil)
    }
}
