import CallSimulation
import ICELite
import Testing

@testable import call_simulation

@Suite("call-simulation's arguments") struct ArgumentsTests {
    private func arguments(_ line: String) -> Arguments? { Arguments(line.split(separator: " ").map(String.init)) }

    @Test("shrink, replay and trace take a seed or a file; a file named by a number is given as ./NUMBER")
    func sources() {
        #expect(arguments("shrink 8812") == .shrink(.seed(8_812), breaking: nil))
        #expect(arguments("shrink my.scenario 5") == .shrink(.file("my.scenario"), breaking: .heard))
        #expect(arguments("shrink ./12") == .shrink(.file("./12"), breaking: nil))
        #expect(arguments("replay my.scenario") == .replay(.file("my.scenario")))
        #expect(arguments("scenario my.scenario") == .replay(.file("my.scenario")))
        #expect(arguments("scenario 12") == .replay(.file("12")))
        #expect(arguments("trace 7") == .trace(.seed(7)))
    }

    @Test(
        "What makes no sense is usage",
        arguments: [
            "", "shrink", "shrink a.scenario 14", "shrink a.scenario heard", "shrink a b c", "replay", "text a",
        ])
    func usage(line: String) {
        #expect(arguments(line) == nil)
    }

    @Test("There is something to shrink only where the rule was broken; else the refusal says what was")
    func refusal() throws {
        let calm = JudgeVerdict()
        #expect(throws: ShrinkRefusal.nothingBroken) { try calm.invariantToShrink(named: nil) }
        #expect(throws: ShrinkRefusal.nothingBroken) { try calm.invariantToShrink(named: .heard) }
        let broken = JudgeVerdict(violations: [Violation(.delay, at: .zero, ""), Violation(.heard, at: .zero, "")])
        #expect(try broken.invariantToShrink(named: nil) == .delay)
        #expect(try broken.invariantToShrink(named: .heard) == .heard)
        #expect {
            try broken.invariantToShrink(named: .calm)
        } throws: {
            "\($0)" == "it does not break rule 10 (calm stays calm); it breaks 9 (delay), 5 (heard if it could be)"
        }
    }
}
