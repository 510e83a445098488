import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct InvariantMessagesTests {
    /// The client says three messages; of these the server gets `delivered`, and then the client's bye.
    private func call(_ delivered: [UInt32], byeDelivered: Bool = true) -> HandMadeCall {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        for message: UInt32 in 1...3 { call.see(.accepted(.client, message: message), at: .milliseconds(1_100)) }
        for message in delivered { call.see(.delivered(.server, message: message), at: .milliseconds(1_200)) }
        call.hangUp(at: .seconds(2))
        call.call.facts.byeDeliveredToServer = byeDelivered
        return call
    }

    @Test func allComeInOrderBeforeTheBye() { #expect(call([1, 2, 3]).violations == []) }

    @Test func onlyWithoutAByeSomeMayBeMissingAtTheEnd() {
        #expect(call([1, 2]).breaksOnly(.messages))
        #expect(call([1, 2], byeDelivered: false).violations == [])
    }

    @Test(arguments: [[1, 1, 2, 3], [1, 3, 2], [2], [1, 2, 3, 4], [0]] as [[UInt32]])
    func nothingComesTwiceOutOfTurnOrFromNowhere(_ delivered: [UInt32]) {
        #expect(call(delivered, byeDelivered: false).breaksOnly(.messages))
    }
}
