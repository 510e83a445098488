import ICELite
import Testing
import TransportTestKit

@testable import Transport

/// A line that is lost before the server has said anything.
@Suite("A second try of the line") struct LineRetryTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant.zero + .milliseconds(milliseconds) }

    private func host() throws -> ClientHost {
        let host = try ClientHost(wanted: .auto, randomness: .seeded(3))
        host.call.start(now: .zero)
        host.call.lineConnected(localAddresses: host.addresses, now: at(10))
        return host
    }

    private func events(_ host: ClientHost) -> [ClientCall.Event] {
        var events: [ClientCall.Event] = []
        while let event = host.call.pollEvent() { events.append(event) }
        return events
    }

    private func wantsLine(_ events: [ClientCall.Event]) -> Bool {
        events.contains { if case .lineWanted = $0 { true } else { false } }
    }

    @Test("Closed before a byte came: one more is asked for, with the same offer; closed again: failed")
    func once() throws {
        let host = try host()
        let first = host.call.lineOutput(atMost: 4_096)
        #expect(!first.isEmpty)
        let fragment = host.call.localMedia?.ufrag
        host.call.lineEnded(now: at(100))
        #expect(wantsLine(events(host)))
        #expect(host.call.state == .connecting)
        host.call.lineConnected(localAddresses: host.addresses, now: at(150))
        #expect(host.call.lineOutput(atMost: 4_096).count == first.count)
        #expect(host.call.localMedia?.ufrag == fragment)
        host.call.lineEnded(now: at(200))
        let last = events(host)
        #expect(!wantsLine(last))
        let outcome = CallOutcome.failed(message: "The line closed before the call connected.")
        #expect(last.contains { if case .ended(outcome) = $0 { true } else { false } })
    }

    @Test("Closed after an answer began: failed at once")
    func answered() throws {
        let host = try host()
        host.call.receiveLine(Array("HTTP/1.1".utf8).span.bytes, now: at(50))
        host.call.lineEnded(now: at(100))
        #expect(!wantsLine(events(host)))
        #expect(host.call.state == .ended)
    }

    @Test("The line's 15 s run on: a second try that is not welcomed by then has failed")
    func budget() throws {
        let host = try host()
        host.call.lineEnded(now: at(14_000))
        host.call.lineConnected(localAddresses: host.addresses, now: at(14_100))
        #expect(host.call.nextDeadline <= at(15_000))
        host.call.handleTimeout(now: at(15_000))
        #expect(host.call.state == .ended)
    }
}
