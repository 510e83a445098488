import ICELite
import Testing
import TransportMedia

@Suite("Coverage of a stream") struct StreamCoverageTests {
    private func lost(_ numbers: [UInt16]) -> Int64 {
        var coverage = StreamCoverage()
        for number in numbers { coverage.receive(SequenceNumber(number)) }
        return coverage.lost
    }

    @Test("A copy is no packet more, a late one no loss any more, an earlier one moves the beginning")
    func copies() {
        #expect(lost([10, 11, 12]) == 0)
        #expect(lost([10, 10, 12, 12]) == 1)
        #expect(lost([10, 12, 11, 11]) == 0)
        #expect(lost([12, 10]) == 1)
        #expect(lost([]) == 0)
    }

    @Test("The number may wrap")
    func wraps() {
        #expect(lost([65_534, 65_535, 0, 2]) == 1)
        #expect(lost((0..<70_000).map { UInt16(truncatingIfNeeded: $0) }) == 0)
        #expect(lost((0..<70_000).filter { $0 % 10 != 0 }.map { UInt16(truncatingIfNeeded: $0) }) == 6_999)
    }

    @Test("What one carriage missed for minutes and the other one brought is not lost")
    func twoCarriages() {
        var coverage = StreamCoverage()
        for number in 0..<3_000 as Range<UInt16> {
            coverage.receive(SequenceNumber(number))
            // The other carriage brings a second of it a second later, now and then.
            if number > 1_000, number % 1_000 < 50 { coverage.receive(SequenceNumber(number - 50)) }
        }
        #expect(coverage.lost == 0)
    }

    @Test("Beyond the window a number counts as a copy; a jump of thousands is a new beginning")
    func jumps() {
        #expect(lost([0, 1_025, 1]) == 1_024)
        #expect(lost([0, 1_024, 1]) == 1_022)
        #expect(lost([0, 3_000]) == 2_999)
        #expect(lost([0, 3_001, 3_003]) == 1)
    }

    @Test("Another stream keeps what the one before has lost")
    func restarted() {
        var coverage = StreamCoverage()
        for number in [1, 3, 40_000, 40_002] as [UInt16] {
            if number == 40_000 { coverage.restart() }
            coverage.receive(SequenceNumber(number))
        }
        #expect(coverage.lost == 2)
    }
}
