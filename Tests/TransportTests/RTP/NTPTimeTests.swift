import ICELite
import Testing

@testable import TransportMedia

/// RTCP's fixed point and back.
@Suite("NTP time") struct NTPTimeTests {
    @Test(
        "65,536ths of a second in nanoseconds, to the nanosecond",
        arguments: [
            (UInt32(0), Int64(0)), (1, 15_258), (6_554, 100_006_103), (65_536, 1_000_000_000),
            (3_932_160, 60_000_000_000), (.max, 65_535_999_984_741),
        ])
    func nanoseconds(compact: UInt32, expected: Int64) {
        #expect(NTPTime.nanoseconds(compact: compact) == expected)
    }

    @Test("There and back an interval is at most a 65,536th of a second shorter")
    func roundTrip() {
        for milliseconds in stride(from: Int64(1), through: 60_000, by: 7) {
            let length = Nanoseconds.milliseconds(milliseconds)
            let back = NTPTime.nanoseconds(compact: NTPTime.compactDuration(length))
            #expect(back <= length && length - back <= 15_259, "\(milliseconds) ms")
        }
    }
}
