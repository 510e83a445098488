import CallSimulation
import ICELite

let simulation = try Simulation()
var scenario = Scenario()
scenario.duration = .seconds(20)
let call = try simulation.run(scenario)
print(call.observations.count, call.facts)
for (at, what) in call.observations {
    switch what {
    case .played, .captured, .sent, .arrived: break
    default: print(at.nanoseconds, what)
    }
}
var counts: [String: Int] = [:]
for (_, what) in call.observations { if case .played(let end, let played) = what { 
    switch played { case .frame(_, _, let on): counts["\(end) frame \(String(describing: on))", default: 0] += 1
    default: counts["\(end) \(played)", default: 0] += 1 } } }
print(counts)
