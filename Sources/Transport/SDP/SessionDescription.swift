/// Writes our offers and answers: strict JSEP shape, CRLF everywhere. RFC 8829 §5.2.1, §5.3.1.
package enum SessionDescription {
    /// An offer of one audio section: Opus alone, DTLS role left to the peer.
    package static func makeOffer(_ local: LocalMedia) -> String {
        var lines = header(local, bundle: local.mid)
        lines.append("m=audio 9 UDP/TLS/RTP/SAVPF \(local.opusPayloadType)")
        lines += section(
            local, mid: local.mid, setup: .actpass, payloadType: local.opusPayloadType, direction: .sendrecv,
            isReducedSize: true)
        return text(lines)
    }

    /// The answer to `offer`: passive, its numbers and names, all other sections rejected.
    ///
    /// - Throws: `badSetup` when the offer wants us active.
    package static func makeAnswer(to offer: RemoteMedia, _ local: LocalMedia) throws(SDPError) -> String {
        guard offer.setup != .passive else { throw .badSetup(offer.setup.rawValue) }
        var lines = header(local, bundle: offer.isBundled ? offer.mid : nil)
        for (index, offered) in offer.sections.enumerated() {
            guard index == offer.audioIndex else {
                // RFC 3264 §6: same order, same media, port 0.
                lines.append("m=\(offered.media) 0 \(offered.transport) \(offered.format)")
                lines.append("c=IN IP4 0.0.0.0")
                if let mid = offered.mid { lines.append("a=mid:\(mid)") }
                lines.append("a=inactive")
                continue
            }
            lines.append("m=audio 9 \(offered.transport) \(offer.opusPayloadType)")
            lines += section(
                local, mid: offer.mid, setup: .passive, payloadType: offer.opusPayloadType,
                direction: offer.direction.answered, isReducedSize: offer.rsize)
        }
        return text(lines)
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

    private static func section(
        _ local: LocalMedia, mid: String?, setup: DTLSSetup, payloadType: PayloadType, direction: MediaDirection,
        isReducedSize: Bool
    ) -> [String] {
        // RFC 8840 §4.1.1: 0.0.0.0 and 9 say that candidates are elsewhere; no mismatch with the list is seen in them.
        var lines = ["c=IN IP4 0.0.0.0"]
        lines.append("a=ice-ufrag:\(local.ufrag)")
        lines.append("a=ice-pwd:\(local.password)")
        lines.append("a=ice-options:trickle renomination")
        lines.append("a=fingerprint:\(local.fingerprint)")
        lines.append("a=setup:\(setup.rawValue)")
        if let mid { lines.append("a=mid:\(mid)") }
        lines.append("a=\(direction.rawValue)")
        lines.append("a=rtcp-mux")
        if isReducedSize { lines.append("a=rtcp-rsize") }
        if local.understandsLossRLE { lines.append("a=rtcp-xr:pkt-loss-rle") }
        lines.append("a=rtpmap:\(payloadType) opus/48000/2")
        lines.append("a=fmtp:\(payloadType) minptime=10;useinbandfec=0;usedtx=1")
        lines.append("a=ptime:20")
        lines.append("a=maxptime:120")
        if direction == .sendrecv || direction == .sendonly {
            lines.append("a=msid:- audio")
            lines.append("a=ssrc:\(local.ssrc) cname:\(local.cname)")
        }
        for candidate in local.candidates { lines.append("a=\(candidate)") }
        if local.endOfCandidates { lines.append("a=end-of-candidates") }
        return lines
    }

    /// The lines with CRLF after each. A line break inside one would be a line of its own: it is cut there.
    private static func text(_ lines: [String]) -> String {
        lines.map { $0.unicodeScalars.prefix { $0 != "\r" && $0 != "\n" } }.map { String($0) + "\r\n" }.joined()
    }

    // MARK: - Trickle

    /// The candidate attribute as `transport.candidate` carries it: from `candidate:` on, without `a=` and line end.
    ///
    /// Nil when `text` is none: not looked into further. At most 512 bytes.
    package static func candidateAttribute(_ text: String) -> String? {
        var text = Substring(text)
        if text.hasPrefix("a=") { text = text.dropFirst(2) }
        while let last = text.unicodeScalars.last, last == "\r" || last == "\n" {
            text = Substring(text.unicodeScalars.dropLast())
        }
        guard text.hasPrefix("candidate:"), text.utf8.count <= 512, text.utf8.count > 10,
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        return String(text)
    }
}
