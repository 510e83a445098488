// The names are the keys of the vector files.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import ICELite
import Testing

@testable import TransportMedia

@Suite("SRTP keys from the exporter") struct ExportedKeysTests {
    struct Row: Decodable {
        var profile: String
        var id: UInt16
        var material: String
        var client_key: String
        var server_key: String
        var client_salt: String
        var server_salt: String
        var rtp_tag: Int
        var rtcp_tag: Int
    }

    static func rows() throws -> [Row] {
        try JSONDecoder().decode([Row].self, from: vectorFile("DTLS/DTLS-14.json"))
    }

    @Test("The exporter's output is split by the profile's lengths, the client sending with its half (DTLS-14)")
    func split() throws {
        var seen: Set<SRTPProfile> = []
        for row in try Self.rows() {
            guard let profile = SRTPProfile(rawValue: row.id) else { continue }
            seen.insert(profile)
            let material = bytes(hex: row.material)
            let ofClient = bytes(hex: row.client_key) + bytes(hex: row.client_salt)
            let ofServer = bytes(hex: row.server_key) + bytes(hex: row.server_salt)
            let client = try SRTPKeys(profile: profile, exported: material.span.bytes, role: .client)
            let server = try SRTPKeys(profile: profile, exported: material.span.bytes, role: .server)
            #expect(client.localBytes == ofClient && client.remoteBytes == ofServer, "\(row.profile)")
            #expect(server.localBytes == ofServer && server.remoteBytes == ofClient, "\(row.profile)")
            #expect(profile.opensslName == row.profile)
            #expect(profile.rtpTagLength == row.rtp_tag)
            // Tag and, beside it, the word of E bit and index.
            #expect(profile.rtcpTrailerLength == row.rtcp_tag + 4)
        }
        #expect(seen == Set(SRTPProfile.allCases))
    }

    @Test("The profiles with a short tag or a 256-bit key are not ours (DTLS-14)") func others() throws {
        let foreign = try Self.rows().filter { SRTPProfile(rawValue: $0.id) == nil }
        #expect(foreign.map(\.id) == [2, 8])
    }

    @Test("Material of any other length is refused", arguments: SRTPProfile.allCases)
    func lengths(profile: SRTPProfile) {
        let wanted = 2 * (profile.keyLength + profile.saltLength)
        for length in 0..<(wanted + 32) where length != wanted {
            let material = [UInt8](repeating: 1, count: length)
            #expect(throws: SRTPError.keyLength(expected: wanted, actual: length)) {
                try SRTPKeys(profile: profile, exported: material.span.bytes, role: .client)
            }
        }
    }
}
