import Foundation
import Testing

/// A case of a public bug report as `Vectors/SDP/sdp.json` has it.
struct SDPCase: Decodable, Sendable {
    var id: String
    var expect: Expectation

    /// What has to come of it. Each case has a few of these.
    struct Expectation: Decodable, Sendable {
        var ok: Bool?
        var error: String?
        var anyOf: [Expectation]?
        var answer: Answer?
        var remoteDir: String?
        var usableCandidates: Int?
        var ufrag: String?
        var setup: String?
        var accepts: String?
        var rejects: String?
        var fingerprint: String?
        var sameAs: String?
        var opusPt: Int?
        var usableLineNumbers: [Int]?
        var linkLocalLine: Int?
        var skipped: Int?
        var zoneIgnored: Bool?
        var fmtp: [String: Int]?
        var encoder: Encoder?
        var ourRoleFull: String?
        var ourRoleLite: String?
        var orError: String?
        var goldenShape: Bool?
        var noCrash: Bool?
        var boundedMs: Int?
    }

    /// What our answer has to say.
    struct Answer: Decodable, Sendable {
        var opusPt: Int?
        var direction: String?
        var setup: String?
        var fingerprintFrom: String?
        var mustNotContain: [String]?
        var mTypes: [String]?
        var mPorts: [String]?
        var bundle: [String]?
        var rtpmap: String?
        var extmapIdsSubsetOf: [Int]?
        var proto: String?
    }

    /// How our encoder may send.
    struct Encoder: Decodable, Sendable {
        var channelsAllowed: Int
        var ptimeMs: Int
    }

    /// The expectations of the case called `id`.
    static func expectation(_ id: String) throws -> Expectation {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let cases = try decoder.decode([SDPCase].self, from: Data(contentsOf: RTPVectors.url("SDP/sdp.json")))
        return try #require(cases.first { $0.id == id }).expect
    }

    /// The description of the case called `id`.
    static func text(_ id: String) throws -> String {
        try String(decoding: Data(contentsOf: RTPVectors.url("SDP/\(id).sdp")), as: UTF8.self)
    }

    /// The table of the case called `id`.
    static func table<Table: Decodable>(_ id: String, as type: Table.Type) throws -> Table {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(type, from: Data(contentsOf: RTPVectors.url("SDP/\(id).json")))
    }

    /// Every description that a peer could offer us.
    static let offers = [
        "SDP-01", "SDP-02", "SDP-04", "SDP-08", "SDP-09", "SDP-12", "SDP-13", "SDP-14", "SDP-16", "SDP-19", "SDP-20",
        "SDP-22", "SDP-23", "SDP-24", "SDP-27", "SDP-28", "SDP-30", "SDP-31",
    ]

    /// Those of them that differ most.
    static let layouts = ["SDP-01", "SDP-02", "SDP-14", "SDP-16", "SDP-20", "SDP-24", "SDP-27"]
}
