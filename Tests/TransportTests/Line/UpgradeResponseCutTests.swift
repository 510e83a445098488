import ICELite
import Testing

@testable import TransportLine

/// The client's end of the upgrade, fed responses that stop anywhere.
@Suite("An upgrade response cut short") struct UpgradeResponseCutTests {
    private func response() throws -> [UInt8] {
        let server = LineEnd.server()
        server.receive(try LineEnd.client().output())
        server.line.accept(now: .zero)
        return server.output()
    }

    @Test("At every length the client waits, and the rest opens the line") func cut() throws {
        let whole = try response()
        for length in 0..<whole.count {
            let client = try LineEnd.client()
            _ = client.output()
            client.receive(Array(whole[..<length]))
            #expect(client.seen.isEmpty, "\(length)")
            client.receive(Array(whole[length...]))
            #expect(client.seen == [.opened], "\(length)")
        }
    }

    @Test("Bent by seed it opens the line, is refused or waits, and never traps") func bent() throws {
        let whole = try response()
        var random = Randomness.seeded(11)
        var refusals = 0
        for _ in 0..<2_000 {
            var bytes = whole
            for _ in 0..<3 {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
            }
            let client = try LineEnd.client()
            _ = client.output()
            client.receive(bytes)
            switch client.seen.first {
            case nil, .opened: break
            case .refused, .closed: refusals += 1
            case .some(let other): Issue.record("\(other)")
            }
        }
        // Most bends hit a name, a value or the status that the client insists on.
        #expect(refusals > 500)
    }
}
