internal import ICELite

/// Writes our offers and answers: strict JSEP shape, CRLF everywhere. RFC 8829 §5.2.1, §5.3.1.
///
/// A restart is the same description with other ICE credentials and the next `sessionVersion`.
package enum SessionDescription {
    /// An offer of one audio section: Opus alone, DTLS role left to the peer.
    package static func makeOffer(_ local: LocalMedia) -> String {
        var lines = header(local, bundle: local.mid)
        lines += section(
            local,
            Terms(
                transport: "UDP/TLS/RTP/SAVPF", mid: local.mid, setup: .actpass, payloadType: local.opusPayloadType,
                direction: .sendrecv, isReducedSize: true,
                extensions: HeaderExtension.allCases.map { ($0, $0.offeredID) }, allowsMixed: false))
        return text(lines)
    }

    /// The answer to `offer`: passive, its numbers and names, all other sections rejected.
    ///
    /// - Throws: `badSetup` when the offer wants us active.
    package static func makeAnswer(to offer: RemoteMedia, _ local: LocalMedia) throws(SDPError) -> String {
        guard offer.setup != .passive else { throw .badSetup(offer.setup.rawValue) }
        var extensions: [(HeaderExtension, Int)] = []
        if let id = offer.audioLevelExtension { extensions.append((.audioLevel, id)) }
        if let id = offer.midExtension { extensions.append((.mid, id)) }
        var lines = header(local, bundle: offer.isBundled ? offer.mid : nil)
        for (index, offered) in offer.sections.enumerated() {
            guard index == offer.audioIndex else {
                lines += rejected(offered)
                continue
            }
            lines += section(
                local,
                Terms(
                    transport: offered.transport, mid: offer.mid, setup: .passive,
                    payloadType: offer.opusPayloadType, direction: offer.direction.answered,
                    isReducedSize: offer.reducedSizeRTCP, extensions: extensions,
                    allowsMixed: offer.allowsMixedExtensions))
        }
        return text(lines)
    }

    /// What differs from one description of ours to another.
    private struct Terms {
        var transport: String
        var mid: String?
        var setup: DTLSSetup
        var payloadType: PayloadType
        var direction: MediaDirection
        var isReducedSize: Bool
        var extensions: [(name: HeaderExtension, id: Int)]
        var allowsMixed: Bool
    }

    private static func header(_ local: LocalMedia, bundle: String?) -> [String] {
        var lines = [
            "v=0", "o=- \(local.sessionID & 0x7FFF_FFFF_FFFF_FFFF) \(local.sessionVersion) IN IP4 127.0.0.1", "s=-",
            "t=0 0",
        ]
        if let bundle { lines.append("a=group:BUNDLE \(bundle)") }
        if local.isLite { lines.append("a=ice-lite") }
        return lines
    }

    /// RFC 3264 §6: same order, same media, port 0.
    private static func rejected(_ offered: RemoteMedia.Section) -> [String] {
        var lines = ["m=\(offered.media) 0 \(offered.transport) \(offered.format)", "c=IN IP4 0.0.0.0"]
        if let mid = offered.mid { lines.append("a=mid:\(mid)") }
        // A data channel has no direction.
        if offered.media != "application" { lines.append("a=inactive") }
        return lines
    }

    private static func section(_ local: LocalMedia, _ terms: Terms) -> [String] {
        let candidates = local.candidates.compactMap { try? ICECandidate(parsing: $0) }.filter { $0.component == 1 }
        let payloadType = terms.payloadType
        var lines = destination(local.endOfCandidates ? candidates : [], terms)
        lines.append("a=ice-ufrag:\(local.ufrag)")
        lines.append("a=ice-pwd:\(local.password)")
        lines.append("a=ice-options:trickle ice2 renomination")
        lines.append("a=fingerprint:\(local.fingerprint)")
        lines.append("a=setup:\(terms.setup.rawValue)")
        if let mid = terms.mid { lines.append("a=mid:\(mid)") }
        lines.append("a=\(terms.direction.rawValue)")
        lines.append("a=rtcp-mux")
        if terms.setup == .actpass { lines.append("a=rtcp-mux-only") }
        if terms.isReducedSize { lines.append("a=rtcp-rsize") }
        if local.understandsLossRLE { lines.append("a=rtcp-xr:pkt-loss-rle") }
        if terms.allowsMixed { lines.append("a=extmap-allow-mixed") }
        for item in terms.extensions { lines.append("a=extmap:\(item.id) \(item.name.rawValue)") }
        lines.append("a=rtpmap:\(payloadType) opus/48000/2")
        lines.append("a=fmtp:\(payloadType) minptime=10;useinbandfec=0;usedtx=1")
        lines.append("a=ptime:20")
        lines.append("a=maxptime:120")
        if terms.direction == .sendrecv || terms.direction == .sendonly {
            // With a stream's name, a browser hands the track out in a stream. RFC 8830 §2.
            lines.append("a=msid:call audio")
            lines.append("a=ssrc:\(local.ssrc) cname:\(local.cname)")
        }
        for candidate in candidates { lines.append("a=\(candidate.attribute)") }
        if local.endOfCandidates { lines.append("a=end-of-candidates") }
        return lines
    }

    /// The `m=` and `c=` lines. A list that is whole has its default in them (RFC 8839 §4.2.1.2: peers that do not
    /// trickle look for it); until then 9 and 0.0.0.0 say that candidates are elsewhere (RFC 8840 §4.1.1).
    private static func destination(_ candidates: [ICECandidate], _ terms: Terms) -> [String] {
        let chosen = candidates.first { $0.address.ip.family == .v4 } ?? candidates.first
        let family = chosen?.address.ip.family == .v6 ? "IP6" : "IP4"
        return [
            "m=audio \(chosen?.address.port ?? 9) \(terms.transport) \(terms.payloadType)",
            "c=IN \(family) \(chosen?.address.ip.description ?? "0.0.0.0")",
        ]
    }

    /// The lines with CRLF after each.
    private static func text(_ lines: [String]) -> String { lines.map { $0 + "\r\n" }.joined() }
}
