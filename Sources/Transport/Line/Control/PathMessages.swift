internal import ICELite

/// `transport.candidate`: a trickled candidate, or the end of them (RFC 8838).
package struct TrickleCandidate: Codable, Hashable, Sendable {
    /// From `candidate:` on (RFC 8839 §5.1).
    package var candidate: String?
    package var endOfCandidates: Bool?
    /// The sender's own username fragment.
    package var ufrag: String

    private enum CodingKeys: String, CodingKey {
        case candidate, ufrag
        case endOfCandidates = "end_of_candidates"
    }

    package init(candidate: String?, endOfCandidates: Bool? = nil, ufrag: String) {
        self.candidate = candidate
        self.endOfCandidates = endOfCandidates
        self.ufrag = ufrag
    }
}

/// `transport.select`: the client's choice of carriage.
package struct Select: Codable, Hashable, Sendable {
    /// The reason of a choice of the WebSocket.
    package struct Fallback: Codable, Hashable, Sendable {
        /// Longest time that is believed, in milliseconds: a day.
        package static let maximumElapsed = 86_400_000

        package var reason: String
        package var stage: String?
        package var elapsedMilliseconds: Int?
        package var detail: String?

        private enum CodingKeys: String, CodingKey {
            case reason, stage, detail
            case elapsedMilliseconds = "elapsed_ms"
        }

        /// The wire's form of a fallback.
        package init(_ fallback: TransportFallback) {
            reason = fallback.reason.wire
            stage = fallback.stage.rawValue
            elapsedMilliseconds = Int(clamping: fallback.elapsed.nanoseconds / 1_000_000)
            detail = fallback.detail
        }

        /// The fallback in types: an unknown stage reads as checks, an unknown reason keeps its word.
        package var fallback: TransportFallback {
            TransportFallback(
                reason: TransportFallbackReason(wire: reason), stage: stage.flatMap(FallbackStage.init) ?? .checks,
                elapsed: .milliseconds(Int64(min(max(0, elapsedMilliseconds ?? 0), Self.maximumElapsed))),
                detail: detail ?? "")
        }
    }

    package var epoch: Int
    package var transport: String
    package var fallback: Fallback?
    package var heardTo: Int64?

    private enum CodingKeys: String, CodingKey {
        case epoch, transport, fallback
        case heardTo = "heard_to"
    }

    package init(epoch: Int, transport: TransportKind, fallback: TransportFallback?, heardTo: Int64? = nil) {
        self.epoch = epoch
        self.transport = transport.rawValue
        self.fallback = fallback.map(Fallback.init)
        self.heardTo = heardTo
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(epoch, forKey: .epoch)
        try container.encode(transport, forKey: .transport)
        try container.encode(fallback, forKey: .fallback)
        try container.encode(heardTo, forKey: .heardTo)
    }
}

/// `transport.selected`: the server's acknowledgement of the epoch in force.
package struct Selected: Codable, Hashable, Sendable {
    package var epoch: Int
    package var heard: Bool

    package init(epoch: Int, heard: Bool) {
        self.epoch = epoch
        self.heard = heard
    }
}

/// `transport.fallback`: the server asks for the WebSocket.
package struct FallbackRequest: Codable, Hashable, Sendable {
    package var word: String
    package var detail: String?

    package init(word: String, detail: String? = nil) {
        self.word = word
        self.detail = detail
    }
}
