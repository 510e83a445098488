import Testing
import TransportTestKit

@Suite("Named traces") struct NetworkTraceTests {
    static let checkValues: [(String, UInt64)] = [
        ("clean", 0xb712_c0dd_94ca_9111), ("normal5", 0xc353_c475_a183_95db), ("normal10", 0x0f88_47c4_de57_2961),
        ("normal20", 0x0b84_a5fb_7c58_26fe), ("normal40", 0x7058_2ae3_e3ea_4791), ("spikes", 0x0c49_d82c_1070_af8e),
        ("wifi", 0xd4c6_3ee1_84b3_d8a1), ("cellular", 0xa800_d3d4_e53b_ce22), ("congested", 0x7004_b360_ac85_de83),
        ("reroute", 0xcb24_2e74_1c84_4a0a), ("line50", 0x4a8f_d33e_1640_1ad8), ("line150", 0x7c01_83c2_2eaa_a104),
        ("stall300", 0xc8c9_b6d2_2dcc_e8d6), ("stall1000", 0x1a79_eb59_4473_9ef7),
        ("stall3000", 0x5ee4_26cb_01cb_9d60), ("bridge", 0xcc7a_41aa_3fb6_a884), ("loss3", 0x1f93_1694_a278_024e),
        ("loss10", 0xf6f3_7c97_8d6e_4fc3), ("loss20", 0xd376_adc1_a319_aadd), ("loss30", 0xc8a3_fde8_7773_ae6a),
        ("burst2x10", 0x152f_4a07_36d6_c54b), ("burst2x20", 0x8c92_7a29_a084_7c81),
        ("burst4x10", 0x4d94_d497_b887_effe),
    ]

    @Test("Each trace is the published one, bit for bit", arguments: checkValues)
    func matchesCheckValue(name: String, expected: UInt64) throws {
        let trace = try #require(NetworkTrace.named(name))
        #expect(trace.checkValue == expected)
        #expect(trace.packets.count >= NetworkTrace.frameCount)
    }

    @Test("There are 23 names, and no trace for another") func names() {
        #expect(NetworkTrace.names.count == 23)
        #expect(Set(NetworkTrace.names) == Set(Self.checkValues.map(\.0)))
        #expect(NetworkTrace.named("nowhere") == nil)
    }

    @Test("Send and arrival times follow from index and delay") func times() throws {
        let trace = try #require(NetworkTrace.named("loss3"))
        #expect((3.4...3.6).contains(trace.lossPercent))
        for packet in trace.packets.prefix(100) {
            #expect(packet.sendTime == .milliseconds(20 * packet.index))
            #expect(
                packet.arrivalTime == packet.delayMicroseconds.map { packet.sendTime + .microseconds($0) })
        }
    }
}
