import Foundation
import Testing

/// A case of a public bug report, as `Vectors/LIFE-nn.json` has it.
struct LifecycleCase: Decodable {
    struct Run: Decodable {
        var webrtc: Double?
        var order: String?
        var winner: String
    }

    struct Expectation: Decodable {
        var readyEvents: Int?
        var lateReported: Bool?
        var closeNotifySent: Bool?
        var terminalEvents: Int?
        var restartsStarted: Int?
        var followupsMax: Int?
        var hostCandidatesMsMax: Int64?
        var gatheringDoneMsMax: Int64?
        var activeTimers: Int?
        var fdDelta: Int?
        var rssGrowthMbMax: Int?
        var crash: Int?
    }

    struct Event: Decodable {
        var gapMsMax: Int64?
    }

    var runs: [Run]?
    var expect: Expectation?
    var events: [Event]?
    var phases: [String]?
    var faultPoints: [String]?
    var iterations: Int?
    var triggersMs: [Int64]?
    var restartDurationMs: Int64?
    var tasks: Int?

    /// Reads the committed copy of the case.
    static func load(_ id: String) throws -> LifecycleCase {
        let url = try #require(Bundle.module.url(forResource: id, withExtension: "json", subdirectory: "Vectors"))
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(LifecycleCase.self, from: Data(contentsOf: url))
    }

    /// What has to come of it.
    func expectation() throws -> Expectation { try #require(expect) }
}
