import ICELite
import Testing

@testable import TransportRuntime

/// The watch over recorded messages, in virtual time.
@Suite("The addresses of a machine, followed") struct NetworkWatchTests {
    private let start = Instant.zero + .seconds(1)

    /// Answers every dump that is asked for from the recording.
    @discardableResult
    private func answer(_ watch: inout NetworkWatch, now: Instant) throws -> Int {
        var count = 0
        while let request = watch.pollRequest() {
            count += 1
            let name = request.kind == .links ? "links, sequence 1" : "addresses, sequence 2"
            for datagram in try NetlinkVectors.part(name) {
                let bytes = NetlinkVectors.renumbered(datagram, request.sequence)
                watch.receive(bytes.span.bytes, now: now)
            }
        }
        return count
    }

    private func feed(_ watch: inout NetworkWatch, _ name: String, now: Instant) throws {
        for datagram in try NetlinkVectors.part(name) { watch.receive(datagram.span.bytes, now: now) }
    }

    private func following() throws -> NetworkWatch {
        var watch = NetworkWatch()
        watch.start(now: start)
        try answer(&watch, now: start)
        return watch
    }

    private func expectNoChange(
        _ watch: inout NetworkWatch, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let change = watch.pollChange()
        #expect(change == nil, sourceLocation: sourceLocation)
    }

    private func expectNoRequest(
        _ watch: inout NetworkWatch, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let request = watch.pollRequest()
        #expect(request == nil, sourceLocation: sourceLocation)
    }

    private func ips(_ addresses: [NetworkInterfaces.Address]?) -> Set<String>? {
        addresses.map { Set($0.map { $0.ip.isLinkLocal ? "link-local \($0.index)" : "\($0.ip)" }) }
    }

    private let allIPs: Set = [
        "127.0.0.1", "::1", "192.0.2.2", "2001:db8::2", "fd00::2", "link-local 2", "link-local 3",
    ]

    @Test("The first set is told as soon as both dumps are whole, and only then")
    func first() throws {
        var watch = NetworkWatch()
        watch.start(now: start)
        let polled = watch.pollRequest()
        let request = try #require(polled)
        #expect(request.kind == .links)
        #expect(watch.nextDeadline == start + NetworkWatch.dumpPatience)
        for datagram in try NetlinkVectors.part("links, sequence 1") { watch.receive(datagram.span.bytes, now: start) }
        expectNoChange(&watch)
        let answered = try answer(&watch, now: start)
        #expect(answered == 1)
        let told = watch.pollChange()
        #expect(ips(told) == allIPs)
        #expect(told?.first { $0.ip == IPAddress("fd00::2") }?.isDeprecated == true)
        #expect(told?.filter(\.isLoopback).count == 2)
        expectNoChange(&watch)
    }

    @Test("A change is told once, when the kernel has been silent for the settling time")
    func settles() throws {
        var watch = try following()
        _ = watch.pollChange()
        let at = start + .seconds(5)
        try feed(&watch, "192.0.2.3 added to va", now: at)
        expectNoChange(&watch)
        #expect(watch.nextDeadline == at + NetworkWatch.settleTime)
        watch.handleTimeout(now: at + NetworkWatch.settleTime - 1)
        expectNoChange(&watch)
        watch.handleTimeout(now: at + NetworkWatch.settleTime)
        let told1 = watch.pollChange()
        #expect(ips(told1) == allIPs.union(["192.0.2.3"]))
        #expect(watch.nextDeadline == .never)
    }

    @Test("However often it changes, a change is told after the longest settling time")
    func settlesAtLast() throws {
        var watch = try following()
        _ = watch.pollChange()
        var toldAt: Instant?
        for step in 0..<30 {
            let now = start + .milliseconds(Int64(step) * 10)
            watch.handleTimeout(now: now)
            if watch.pollChange() != nil {
                toldAt = now
                break
            }
            try feed(&watch, step % 2 == 0 ? "va down" : "va up again", now: now)
        }
        #expect(toldAt == start + NetworkWatch.longestSettle)
    }

    @Test("A tentative address is not usable until its duplicate detection is done")
    func tentative() throws {
        var watch = try following()
        _ = watch.pollChange()
        try feed(&watch, "2001:db8::99 added to va: tentative", now: start)
        watch.handleTimeout(now: start + .seconds(1))
        expectNoChange(&watch)
        try feed(&watch, "duplicate detection is done", now: start + .seconds(1))
        watch.handleTimeout(now: start + .seconds(2))
        let told2 = watch.pollChange()
        #expect(ips(told2)?.contains("2001:db8::99") == true)
    }

    @Test("A link that goes down takes its IPv4 addresses along, which the kernel keeps, and brings them back")
    func linkDown() throws {
        var watch = try following()
        _ = watch.pollChange()
        try feed(&watch, "va down", now: start)
        watch.handleTimeout(now: start + .milliseconds(20))
        let told3 = watch.pollChange()
        #expect(ips(told3) == ["127.0.0.1", "::1"])
        try feed(&watch, "va up again", now: start + .seconds(1))
        watch.handleTimeout(now: start + .seconds(2))
        let told4 = watch.pollChange()
        #expect(ips(told4)?.contains("192.0.2.2") == true)
        try feed(&watch, "va deleted", now: start + .seconds(3))
        watch.handleTimeout(now: start + .seconds(4))
        let told5 = watch.pollChange()
        #expect(ips(told5) == ["127.0.0.1", "::1"])
        #expect(watch.counters.malformed == 0)
    }

    @Test("An interface counts as soon as it has carrier, before the kernel calls it running, but not while dormant")
    func carrier() throws {
        var link = NetlinkMessage.Link(index: 1, name: "va", flags: NetlinkMessage.Link.up)
        #expect(!link.isUsable)
        link.flags |= NetlinkMessage.Link.lowerUp
        #expect(link.isUsable)
        link.flags |= NetlinkMessage.Link.dormant
        #expect(!link.isUsable)
        link.flags |= NetlinkMessage.Link.running
        #expect(link.isUsable)
        link.flags &= ~NetlinkMessage.Link.up
        #expect(!link.isUsable)
        var watch = try following()
        _ = watch.pollChange()
        try feed(&watch, "va down", now: start)
        let up = try #require(try NetlinkVectors.part("va up again").first)
        watch.receive(up.span.bytes, now: start)
        watch.handleTimeout(now: start + .milliseconds(20))
        let told = watch.pollChange()
        #expect(ips(told)?.contains("192.0.2.2") == true)
    }

    @Test("Lost messages lead to a new dump, and the set is not told before it is whole")
    func overrun() throws {
        var watch = try following()
        _ = watch.pollChange()
        watch.overrun(now: start)
        try feed(&watch, "va deleted", now: start)
        expectNoRequest(&watch)
        watch.handleTimeout(now: start + NetworkWatch.settleTime)
        let polled = watch.pollRequest()
        let request = try #require(polled)
        #expect(request.kind == .links)
        expectNoChange(&watch)
        watch.overrun(now: start + .milliseconds(21))
        // The answer to what was asked before the second loss does not count.
        for datagram in try NetlinkVectors.part("links, sequence 1") {
            let bytes = NetlinkVectors.renumbered(datagram, request.sequence)
            watch.receive(bytes.span.bytes, now: start + .milliseconds(22))
        }
        expectNoRequest(&watch)
        watch.handleTimeout(now: start + .milliseconds(41))
        let answered = try answer(&watch, now: start + .milliseconds(41))
        #expect(answered == 2)
        watch.handleTimeout(now: start + .seconds(1))
        // The dump says what was told before: nothing has changed.
        expectNoChange(&watch)
        #expect(watch.counters.overruns == 2)
        try feed(&watch, "192.0.2.3 added to va", now: start + .seconds(2))
        watch.handleTimeout(now: start + .seconds(3))
        let told6 = watch.pollChange()
        #expect(ips(told6) == allIPs.union(["192.0.2.3"]))
    }

    @Test("A dump that met a change is asked for again")
    func interrupted() throws {
        var watch = NetworkWatch()
        watch.start(now: start)
        let polled = watch.pollRequest()
        let request = try #require(polled)
        for var datagram in try NetlinkVectors.part("links, sequence 1") {
            datagram[6] |= 0x10
            let bytes = NetlinkVectors.renumbered(datagram, request.sequence)
            watch.receive(bytes.span.bytes, now: start)
        }
        let answered = try answer(&watch, now: start)
        #expect(answered == 1)
        expectNoChange(&watch)
        watch.handleTimeout(now: start + NetworkWatch.settleTime)
        let again = try answer(&watch, now: start)
        #expect(again == 2)
        let told7 = watch.pollChange()
        #expect(ips(told7) == allIPs)
    }

    @Test("Looking again asks for everything once, and tells nothing where nothing is other")
    func rescan() throws {
        var watch = try following()
        _ = watch.pollChange()
        let now = start + .seconds(10)
        for _ in 0..<5 { watch.rescan(now: now) }
        expectNoRequest(&watch)
        #expect(watch.nextDeadline == now + NetworkWatch.settleTime)
        watch.handleTimeout(now: watch.nextDeadline)
        watch.rescan(now: now + .milliseconds(20))
        let answered = try answer(&watch, now: now + .milliseconds(20))
        #expect(answered == 2)
        watch.handleTimeout(now: now + .seconds(1))
        expectNoChange(&watch)
        #expect(watch.counters.dumps == 4)
        // What was missed meanwhile is told.
        try feed(&watch, "192.0.2.3 added to va", now: now + .seconds(2))
        watch.handleTimeout(now: now + .seconds(3))
        let change = watch.pollChange()
        #expect(ips(change)?.contains("192.0.2.3") == true)
        watch.rescan(now: now + .seconds(4))
        watch.handleTimeout(now: now + .seconds(5))
        _ = try answer(&watch, now: now + .seconds(5))
        watch.handleTimeout(now: now + .seconds(6))
        let again = watch.pollChange()
        #expect(ips(again) == allIPs)
    }

    @Test("Changed default routes are told once, settled, without a set of addresses")
    func routes() throws {
        var watch = try following()
        _ = watch.pollChange()
        let first = watch.pollRouteChange()
        #expect(first)
        let now = start + .seconds(10)
        for kind in [UInt8(25), 24, 24] {
            watch.receive(NetlinkVectors.route(kind: kind).span.bytes, now: now)
        }
        let early = watch.pollRouteChange()
        #expect(!early)
        #expect(watch.nextDeadline == now + NetworkWatch.settleTime)
        watch.handleTimeout(now: watch.nextDeadline)
        let told = watch.pollRouteChange()
        let again = watch.pollRouteChange()
        #expect(told && !again)
        expectNoChange(&watch)
        #expect(watch.counters.routes == 3)
        watch.receive(NetlinkVectors.route(prefixLength: 24).span.bytes, now: now + .seconds(1))
        #expect(watch.nextDeadline == .never)
    }

    @Test("An interface without carrier has no usable address, whatever it is called besides")
    func lostCarrier() {
        let flags = NetlinkMessage.Link.up | NetlinkMessage.Link.running
        #expect(!NetlinkMessage.Link(index: 1, name: "a", flags: flags).isUsable)
        #expect(NetlinkMessage.Link(index: 1, name: "a", flags: flags | NetlinkMessage.Link.lowerUp).isUsable)
    }

    @Test("A kernel that does not answer is given up after some attempts")
    func silence() {
        var watch = NetworkWatch()
        watch.start(now: start)
        for _ in 0..<NetworkWatch.dumpAttempts {
            #expect(!watch.hasFailed)
            let request = watch.pollRequest()
            #expect(request != nil)
            watch.handleTimeout(now: watch.nextDeadline)
        }
        #expect(watch.hasFailed)
        expectNoRequest(&watch)
        #expect(watch.nextDeadline == .never)
    }

    @Test("More addresses than the limit are counted, not kept")
    func bounded() throws {
        var watch = try following()
        let template = try #require(try NetlinkVectors.part("192.0.2.3 added to va").first)
        let held = watch.table.usable.count
        for number in 0..<1_000 {
            var bytes = template
            // IFA_ADDRESS and IFA_LOCAL are the first two attributes.
            for offset in [30, 38] {
                bytes[offset] = UInt8(number / 250 + 3)
                bytes[offset + 1] = UInt8(number % 250)
            }
            watch.receive(bytes.span.bytes, now: start)
        }
        #expect(watch.table.usable.count == InterfaceTable.limit)
        #expect(watch.table.overflow == 1_000 - (InterfaceTable.limit - held))
    }
}
