internal import ICELite
internal import TransportTestKit

extension Micro {
    /// What the simulation's budget of CPU rests on.
    static var simulation: [Benchmark] {
        [
            Benchmark("micro/simulator/schedule-run", note: "64 waiting") {
                let simulator = Simulator(seed: 1)
                var ran = 0
                for index in 0..<64 { simulator.schedule(after: .seconds(1_000_000 + index)) {} }
                return { iterations in
                    for _ in 0..<iterations {
                        simulator.schedule(at: simulator.now + 1_000) { ran &+= 1 }
                        simulator.run(until: simulator.now + 1_000)
                    }
                    keep(ran)
                }
            },
            Benchmark("micro/link/send", note: "jitter, bursty loss, rate") {
                var model = LinkModel(
                    delay: .milliseconds(40), jitter: .normal(sigma: .milliseconds(5)),
                    loss: .gilbert(percent: 2, meanBurst: 2))
                model.bitsPerSecond = 1_000_000
                var link = LinkState(model: model, start: .zero, randomness: .seeded(1))
                var now = Instant.zero
                return { iterations in
                    for _ in 0..<iterations {
                        now = now + .milliseconds(20)
                        keep(link.send(byteCount: 200, now: now))
                    }
                }
            },
        ]
    }
}
