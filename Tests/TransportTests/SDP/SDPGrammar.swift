import Foundation
import Synchronization

/// What a description of ours must look like, line by line: RFC 8866 §9, RFC 8829 §5.2.1 and §5.3.1, RFC 8839 §5.1.
struct SDPGrammar {
    private static let token = "[!#-'*+.\\-0-9A-Z^-~]+"
    private static let address = "(?:(?:[0-9]{1,3}\\.){3}[0-9]{1,3}|[0-9a-f:]*:[0-9a-f:.]*)"

    /// The lines before the first section, in order; `*` may be missing.
    private static let header = [
        "v=0", "o=- [0-9]{1,19} [0-9]{1,19} IN IP4 127\\.0\\.0\\.1", "s=-", "t=0 0",
    ]

    /// Attributes of a section that is in use: name, value after the colon (nil for a flag), least and most number.
    private static let attributes: [(name: String, value: String?, count: ClosedRange<Int>)] = [
        ("ice-ufrag", "[A-Za-z0-9+/]{4,256}", 1...1), ("ice-pwd", "[A-Za-z0-9+/]{22,256}", 1...1),
        ("ice-options", "trickle ice2 renomination", 1...1),
        ("fingerprint", "sha-256 [0-9A-F]{2}(?::[0-9A-F]{2}){31}", 1...1), ("setup", "actpass|passive", 1...1),
        ("mid", token, 0...1), ("sendrecv", nil, 0...1), ("sendonly", nil, 0...1), ("recvonly", nil, 0...1),
        ("inactive", nil, 0...1), ("rtcp-mux", nil, 1...1), ("rtcp-mux-only", nil, 0...1), ("rtcp-rsize", nil, 0...1),
        ("rtcp-xr", "pkt-loss-rle", 0...1), ("extmap-allow-mixed", nil, 0...1),
        ("extmap", "[0-9]{1,3} urn:ietf:params:rtp-hdrext:(?:ssrc-audio-level|sdes:mid)", 0...2),
        ("rtpmap", "[0-9]{1,3} opus/48000/2", 1...1),
        ("fmtp", "[0-9]{1,3} [a-z]+=[0-9]+(?:;[a-z]+=[0-9]+)*", 1...1), ("ptime", "20", 1...1),
        ("maxptime", "120", 1...1), ("msid", "\(token) \(token)", 0...1),
        ("ssrc", "[0-9]{1,10} cname:[!-~]{1,255}", 0...1),
        (
            "candidate",
            "[A-Za-z0-9+/]{1,32} 1 udp [0-9]{1,10} \(address) [0-9]{1,5} typ (?:host|(?:srflx|prflx|relay) raddr "
                + "\(address) rport [0-9]{1,5})(?: ufrag [A-Za-z0-9+/]{4,256})?", 0...64
        ), ("end-of-candidates", nil, 0...1),
    ]

    /// What is wrong with `text`; nothing in a description of ours.
    static func faults(_ text: String) -> [String] {
        var faults: [String] = []
        if !text.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 13 || $0 == 10 }) { faults.append("not ASCII") }
        var lines = text.components(separatedBy: "\r\n")
        if lines.popLast() != "" { faults.append("no line end at the end") }
        if lines.contains(where: { $0.utf8.contains(13) || $0.utf8.contains(10) }) { faults.append("half a line end") }
        let written = WrittenSDP(text)
        faults += self.header(written)
        if written.sections.isEmpty { faults.append("no section") }
        if written.sections.filter({ isActive($0) }).count != 1 { faults.append("not one section in use") }
        for section in written.sections { faults += isActive(section) ? active(section) : rejected(section) }
        let mids = written.sections.flatMap { WrittenSDP.values("mid", in: $0) }
        if Set(mids).count != mids.count { faults.append("a mid twice") }
        let group = WrittenSDP.values("group", in: written.session).first.map {
            $0.split(separator: " ").map(String.init)
        }
        if let group, Array(group.dropFirst()) != WrittenSDP.values("mid", in: written.audio) {
            faults.append("bundle \(group) is not the section in use")
        }
        return faults
    }

    private static func isActive(_ section: [String]) -> Bool { !section[0].contains(" 0 ") }

    private static func header(_ written: WrittenSDP) -> [String] {
        var faults: [String] = []
        for (index, pattern) in header.enumerated()
        where index >= written.session.count || !matches(written.session[index], pattern) {
            faults.append("line \(index + 1) is not \(pattern)")
        }
        let rest = written.session.dropFirst(header.count)
        var names = rest.map { $0.prefix { $0 != ":" } }
        if names.first == "a=group" { names.removeFirst() }
        if names.first == "a=ice-lite" { names.removeFirst() }
        if !names.isEmpty { faults.append("session has \(names)") }
        for line in rest where !matches(line, "a=group:BUNDLE \(token)|a=ice-lite") {
            faults.append("session: \(line)")
        }
        let id = written.session.dropFirst().first?.split(separator: " ").dropFirst().first.flatMap { UInt64($0) }
        if id ?? .max > UInt64(Int64.max) { faults.append("session id is no 63 bits") }
        return faults
    }

    private static func active(_ section: [String]) -> [String] {
        var faults: [String] = []
        if !matches(section[0], "m=audio [1-9][0-9]{0,4} \(token)(?:/\(token))* [0-9]{1,3}") {
            faults.append(section[0])
        }
        if section.count < 2 || !matches(section[1], "c=IN IP[46] \(address)") { faults.append("c= is not the second") }
        for line in section.dropFirst(2) {
            let name = line.dropFirst(2).prefix { $0 != ":" }
            let attribute = attributes.first { $0.name == name }
            let isKnown = attribute.map { matches(line, "a=\($0.name)" + ($0.value.map { ":(?:\($0))" } ?? "")) }
            if isKnown != true { faults.append(line) }
        }
        for attribute in attributes {
            let count = section.filter { $0 == "a=\(attribute.name)" || $0.hasPrefix("a=\(attribute.name):") }.count
            if !attribute.count.contains(count) { faults.append("\(count) × \(attribute.name)") }
        }
        let directions = section.filter { ["a=sendrecv", "a=sendonly", "a=recvonly", "a=inactive"].contains($0) }
        if directions.count != 1 { faults.append("directions: \(directions)") }
        let sends = directions == ["a=sendrecv"] || directions == ["a=sendonly"]
        for name in ["msid", "ssrc"] where WrittenSDP.values(name, in: section).isEmpty == sends {
            faults.append("\(name) \(sends ? "missing" : "of one that does not send")")
        }
        return faults + numbers(section) + destination(section)
    }

    private static func numbers(_ section: [String]) -> [String] {
        var faults: [String] = []
        let format = section[0].split(separator: " ").last ?? ""
        for name in ["rtpmap", "fmtp"]
        where !(WrittenSDP.values(name, in: section).first ?? "").hasPrefix("\(format) ") {
            faults.append("\(name) is not of \(format)")
        }
        if !(0...127).contains(Int(format) ?? -1) { faults.append("payload type \(format)") }
        let ids = WrittenSDP.values("extmap", in: section).compactMap { Int($0.prefix { $0 != " " }) }
        let range = section.contains("a=extmap-allow-mixed") ? 1...255 : 1...14
        if Set(ids).count != ids.count || !ids.allSatisfy(range.contains) { faults.append("extension ids \(ids)") }
        if WrittenSDP.values("setup", in: section) == ["passive"], section.contains("a=rtcp-mux-only") {
            faults.append("rtcp-mux-only in an answer")
        }
        return faults
    }

    /// The default is one of the candidates, or says that there is none. RFC 8839 §5.4.
    private static func destination(_ section: [String]) -> [String] {
        let candidates = WrittenSDP.values("candidate", in: section).map { $0.split(separator: " ") }
        var faults: [String] = []
        for candidate in candidates where ["0.0.0.0", "::"].contains(candidate[4]) || candidate[5] == "0" {
            faults.append("unspecified candidate")
        }
        let isWhole = section.contains("a=end-of-candidates") && !candidates.isEmpty
        let words = section[1].split(separator: " ")
        let port = section[0].split(separator: " ")[1]
        let named = candidates.contains {
            $0[4] == words[2] && $0[5] == port && (words[1] == "IP6") == $0[4].contains(":")
        }
        if !(isWhole ? named : section[1] == "c=IN IP4 0.0.0.0" && port == "9") {
            faults.append("default \(words[2]) \(port)")
        }
        return faults
    }

    /// RFC 8829 §5.3.1: nothing but its place and its name.
    private static func rejected(_ section: [String]) -> [String] {
        var faults: [String] = []
        if !matches(section[0], "m=\(token) 0 \(token)(?:/\(token))* \(token)") { faults.append(section[0]) }
        if section.count < 2 || section[1] != "c=IN IP4 0.0.0.0" { faults.append("c= of a rejected section") }
        for line in section.dropFirst(2) where !matches(line, "a=mid:\(token)|a=inactive") { faults.append(line) }
        return faults
    }

    /// What was asked before: most lines of most descriptions are the same.
    private static let known = Mutex<[String: Bool]>([:])

    private static func matches(_ text: String, _ pattern: String) -> Bool {
        let key = pattern + "\n" + text
        if let answer = known.withLock({ $0[key] }) { return answer }
        let whole = text.startIndex..<text.endIndex
        let answer = text.range(of: "^(?:\(pattern))$", options: .regularExpression) == whole
        known.withLock { $0[key] = answer }
        return answer
    }
}
