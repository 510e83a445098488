import Testing

@testable import graine_transport_probe

@Suite struct ImpairmentSpecTests {
    @Test func itemsWithoutADirectionApplyToEach() throws {
        let spec = try ImpairmentSpec.parse("loss=2.5%,burst=3,delay=50,jitter=10ms,rate=64k,reorder=1,dup=0.5")
        #expect(spec.packetsUp == spec.packetsDown)
        #expect(spec.packetsUp.lossPercent == 2.5 && spec.packetsUp.burstPackets == 3)
        #expect(spec.packetsUp.delayMilliseconds == 50 && spec.packetsUp.jitterMilliseconds == 10)
        #expect(spec.packetsUp.bitsPerSecond == 64_000)
        #expect(spec.packetsUp.reorderPercent == 1 && spec.packetsUp.duplicatePercent == 0.5)
        #expect(spec.lineUp.isClear && spec.lineDown.isClear)
    }

    @Test func lineAndDirectionAreTold() throws {
        let spec = try ImpairmentSpec.parse("line.delay=50,delay=20,up.loss=5,line.down.rate=1M")
        #expect(spec.lineUp.delayMilliseconds == 50 && spec.lineDown.delayMilliseconds == 50)
        #expect(spec.packetsUp.delayMilliseconds == 20 && spec.packetsDown.delayMilliseconds == 20)
        #expect(spec.packetsUp.lossPercent == 5 && spec.packetsDown.lossPercent == 0)
        #expect(spec.lineDown.bitsPerSecond == 1_000_000 && spec.lineUp.bitsPerSecond == nil)
    }

    @Test func blackHolesAreLengthAtStart() throws {
        let spec = try ImpairmentSpec.parse("blackhole=2@5,down.blackhole=200ms@1.5s")
        #expect(spec.packetsUp.blackHoles == [.init(startMilliseconds: 5_000, lengthMilliseconds: 2_000)])
        #expect(spec.packetsDown.blackHoles.last == .init(startMilliseconds: 1_500, lengthMilliseconds: 200))
    }

    @Test func udpIsDroppedOrRejected() throws {
        #expect(try ImpairmentSpec.parse("udp=drop").udp == .drop)
        #expect(try ImpairmentSpec.parse("udp=reject").udp == .reject)
        #expect(ImpairmentSpec().isClear)
    }

    @Test(arguments: [
        "", ",", "loss", "loss=", "=5", "loss=101", "loss=-1", "loss=nan", "loss=1e2", "loss=+1", "line.loss=1",
        "udp=maybe", "up.udp=drop", "line.udp=drop", "delay=99999999", "burst=3", "loss=1,burst=0.5", "rate=0",
        "rate=k", "rate=99999999M", "blackhole=5", "blackhole=0@1", "blackhole=1@", "sideways.loss=1",
        "line.up.x.loss=1",
        "loss=1,,delay=2", "line.=4", "delay=1.2.3",
    ])
    func nonsenseIsUsage(text: String) {
        #expect(throws: ProbeError.self) { try ImpairmentSpec.parse(text) }
    }

    @Test func mutatedTextNeverTraps() {
        var random = SplitMix(seed: 8_812)
        let sound = Array("line.up.delay=50,loss=2.5%,burst=3,blackhole=200ms@1.5s,rate=64k,udp=drop".utf8)
        for _ in 0..<5_000 {
            var bytes = sound
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...127, using: &random)
            }
            _ = try? ImpairmentSpec.parse(String(decoding: bytes, as: UTF8.self))
        }
    }
}

/// A seeded generator for tests.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
