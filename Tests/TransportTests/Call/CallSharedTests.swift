import Testing

@testable import Transport

@Suite("What a call hands its application") struct CallSharedTests {
    @Test("Messages beyond the limit are refused, not lost, and states find room behind them")
    func overrun() async {
        let shared = CallShared(messageLimit: 3)
        #expect(shared.yield(.stateChanged(.connecting)))
        #expect(shared.yield(.message([1])))
        #expect(shared.yield(.message([2])))
        #expect(!shared.yield(.message([3])))
        _ = shared.yield(.stateChanged(.ended))
        shared.finish(.ended(.local))
        var events: [TransportEvent] = []
        for await event in shared.events { events.append(event) }
        #expect(
            events == [
                .stateChanged(.connecting), .message([1]), .message([2]), .message([3]), .stateChanged(.ended),
                .ended(.ended(.local)),
            ])
    }
}
