/// `transport-benchmarks recovery`: how an active call comes out of each kind of outage.
enum OutageRun {
    private static let command = TrialCommand<OutageCase, OutageCell>(
        name: "recovery", virtualCalls: 200, socketCalls: 10)

    /// Its arguments.
    static var usage: String { command.usage }

    /// Runs it and returns the exit code: 0 when every call was made and ended as its outage has it.
    static func run(_ arguments: [String]) async -> Int32 {
        await command.run(
            arguments,
            cell: { outageCase, options, site in
                let samples = await TrialRun.samples(options) { seed in
                    guard let site else { return VirtualOutage(outageCase: outageCase).call(seed: seed) }
                    return await SocketOutage(outageCase: outageCase, site: site).call(seed: seed)
                }
                return OutageCell(outageCase: outageCase, samples: samples)
            }, isSound: isSound)
    }

    /// All calls were made, and each is where its outage leaves it.
    private static func isSound(_ cell: OutageCell, _ calls: Int) -> Bool {
        let end =
            switch cell.outageCase {
            case .dead: "websocket"
            case .deadEndCall: "ended failed"
            case .rebind, .interface, .stall, .dead4, .up4, .down4: "webrtc"
            }
        return cell.samples.count == calls && cell.samples.allSatisfy { $0.end == end }
    }
}
