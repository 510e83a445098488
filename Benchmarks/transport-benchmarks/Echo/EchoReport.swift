/// What the two relays took, and how one compares with the other.
struct EchoReport {
    let profile: String
    /// Packets each program relayed while it was measured.
    let packets: Int
    /// Packets whose new protection was verified, by program.
    let verified: [Int]
    /// Nanoseconds of CPU a packet, ascending, a number a turn.
    let c: [Double]
    let swift: [Double]
    /// C's time by Swift's of the same turn, ascending.
    let shares: [Double]

    /// - Parameters: a number a turn, in the order of the turns.
    init(profile: String, packets: Int, verified: [Int], c: [Double], swift: [Double]) {
        self.profile = profile
        self.packets = packets
        self.verified = verified
        shares = zip(c, swift).map { $0 / $1 }.sorted()
        self.c = c.sorted()
        self.swift = swift.sorted()
    }

    /// How much of C's throughput a core has: the median of the turns' ratios, so that what disturbs a turn disturbs both.
    var share: Double { Self.median(shares) }

    var text: String {
        func row(_ name: String, _ times: [Double]) -> String {
            pad(name, 14)
                + [Self.median(times), times.first ?? 0, quartile(times, 1), quartile(times, 3), times.last ?? 0]
                .map { pad(fixed($0, 0), 10, right: true) }.joined()
        }
        let percents = [share, quartile(shares, 1), quartile(shares, 3)].map { fixed($0 * 100, 1) }
        return """
            relay of \(EchoLoad.datagramSize)-byte SRTP packets (\(profile)), \(packets) each in \(c.count) turns, \
            \(verified.reduce(0, +)) verified
            CPU ns/packet \(["median", "min", "25 %", "75 %", "max"].map { pad($0, 10, right: true) }.joined())
            \(row("C", c))
            \(row("Swift", swift))
            share of C: \(percents[0]) % (25 to 75 % of the turns: \(percents[1]) to \(percents[2]) %); by the least times \
            \(fixed((c.first ?? 0) / max(swift.first ?? 0, 1) * 100, 1)) %
            """
    }

    /// Schema `graine.benchmarks.echo/1`: additive changes only.
    var json: String {
        func times(_ times: [Double]) -> String {
            """
            {"median": \(fixed(Self.median(times), 1)), "min": \(fixed(times.first ?? 0, 1)), \
            "p25": \(fixed(quartile(times, 1), 1)), "p75": \(fixed(quartile(times, 3), 1)), \
            "max": \(fixed(times.last ?? 0, 1))}
            """
        }
        return """
            {
              "schema": "graine.benchmarks.echo/1",
              "configuration": "\(Report.configuration)",
              "profile": "\(profile)", "datagram_bytes": \(EchoLoad.datagramSize),
              "packets": \(packets), "turns": \(c.count),
              "c_ns_per_packet": \(times(c)),
              "swift_ns_per_packet": \(times(swift)),
              "share_of_c": {"median": \(fixed(share, 4)), "p25": \(fixed(quartile(shares, 1), 4)), \
            "p75": \(fixed(quartile(shares, 3), 4))}
            }

            """
    }

    private static func median(_ times: [Double]) -> Double { times.isEmpty ? 0 : times[times.count / 2] }

    private func quartile(_ times: [Double], _ quarter: Int) -> Double {
        times.isEmpty ? 0 : times[min(times.count - 1, times.count * quarter / 4)]
    }
}
