// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

/// Role conflicts (ICE-11): the table, read from the case's file, and all that is like it.
@Suite struct RoleCaseTests {
    @Test(arguments: [ICERole.controlling, .controlled])
    func `ICE_11 the truth table of role conflicts`(role: ICERole) throws {
        let expect = try PublicCase.read("ICE-11").expect
        let tieBreaker = try #require(UInt64(expect["our_tiebreaker"].string, radix: 16))
        let column = expect[role == .controlling ? "we_controlling" : "we_controlled"].list
        let vectors = try Vector.read("ICE-11")
        #expect(vectors.count == 7 && column.count == 7)
        for (vector, expected) in zip(vectors, column) {
            var agent = try vectorAgent(role)
            agent.tieBreaker = tieBreaker
            let verdict = agent.take(vector.bytes, try vectorPath())
            let answer = try ReadMessage(try #require(drain(&agent, now: .zero).first).bytes)
            #expect(answer.verifies(with: CaseEnd.localKey), "\(vector)")
            switch try expected.string {
            case "487":
                #expect(verdict == .dropped(.roleConflict), "\(vector)")
                #expect(answer.errorCode == 487, "\(vector)")
                #expect(agent.role == role, "\(vector)")
                #expect(agent.outcome.pairs == 0, "\(vector)")
            case "switch_to_controlled", "switch_to_controlling":
                #expect(verdict == .accepted && answer.messageClass == .success, "\(vector)")
                #expect("switch_to_\(agent.role)" == expected.text, "\(vector)")
                #expect(agent.role != role, "\(vector)")
            case "success", "success_or_400":
                // Without a role attribute there is no conflict.
                #expect(verdict == .accepted && answer.messageClass == .success, "\(vector)")
                #expect(agent.role == role, "\(vector)")
                #expect(agent.counters.roleConflicts == 0, "\(vector)")
            default:
                Issue.record("\(vector): a word that no test knows")
            }
            #expect(agent.tieBreaker == tieBreaker, "only a 487 to us changes it")
        }
    }

    @Test func `ICE_11 any two tie-breakers, zero and equal ones too, leave one end each role`() throws {
        let values: [UInt64] = [0, 1, 5, 0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000, .max]
        for role in [ICERole.controlling, .controlled] {
            for ours in values {
                for theirs in values {
                    var left = try vectorAgent(role)
                    left.tieBreaker = ours
                    let request = try conflict(role, tieBreaker: theirs)
                    let verdict = left.take(request, try vectorPath())
                    // RFC 8445 §7.3.1.1: the end that is not smaller ends as controlling one.
                    let keeps = role == .controlling ? ours >= theirs : ours < theirs
                    #expect((verdict == .dropped(.roleConflict)) == keeps, "\(role) \(ours) \(theirs)")
                    #expect((left.role == role) == keeps, "\(role) \(ours) \(theirs)")
                    let answer = try ReadMessage(try #require(drain(&left, now: .zero).first).bytes)
                    #expect((answer.errorCode == 487) == keeps, "\(role) \(ours) \(theirs)")
                }
            }
        }
    }

    @Test func `ICE_11 a lite end stays controlled and tells a peer that says so, too`() throws {
        for (index, vector) in try Vector.read("ICE-11").enumerated() {
            let outcome = try CaseEnd.hand(vector.bytes, to: .lite)
            let claimsControlled = index == 2 || index == 3
            #expect((outcome.verdict == .dropped(.roleConflict)) == claimsControlled, "\(vector)")
            #expect(outcome.answers.first?.errorCode == (claimsControlled ? 487 : nil), "\(vector)")
        }
    }

    /// A check of a peer that claims `role`.
    private func conflict(_ role: ICERole, tieBreaker: UInt64) throws -> [UInt8] {
        try written { (out) throws(STUNError) in
            let writer = try STUNWriter(.request, transactionID: STUNTransactionID(high: 3, low: 7), into: &out)
            try writer.append(.username, Array("LocU:RemU".utf8), into: &out)
            try writer.append(.priority, UInt32(7), into: &out)
            try writer.append(role == .controlling ? .iceControlling : .iceControlled, tieBreaker, into: &out)
            try writer.append(.sha1, key: CaseEnd.localKey, into: &out)
            try writer.appendFingerprint(into: &out)
        }
    }
}
