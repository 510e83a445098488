import CallSimulation
import Testing

@Suite struct MilestoneTests {
    @Test func everyMilestoneIsNamedByItsText() {
        for milestone in Milestone.allCases { #expect(Milestone(text: milestone.text) == milestone) }
        #expect(Milestone(text: "nothing") == nil)
    }
}
