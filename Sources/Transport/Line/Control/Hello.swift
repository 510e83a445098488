/// `transport.hello`: the client's first message.
package struct Hello: Codable, Hashable, Sendable {
    /// What the client is, for logs.
    package struct Client: Codable, Hashable, Sendable {
        package var sdk: String?
        package var version: String?
        package var appVersion: String?
        package var platform: String?

        private enum CodingKeys: String, CodingKey {
            case sdk, version, platform
            case appVersion = "app_version"
        }

        package init(sdk: String?, version: String?, appVersion: String? = nil, platform: String? = nil) {
            self.sdk = sdk
            self.version = version
            self.appVersion = appVersion
            self.platform = platform
        }
    }

    package var version = 1
    package var callID: String
    package var preference: String?
    package var transports: [String]?
    package var client: Client?
    package var audio: LineAudio?
    package var livenessMilliseconds: Int?
    package var webrtc: PathDescription?

    private enum CodingKeys: String, CodingKey {
        case version, preference, transports, client, audio, webrtc
        case callID = "call_id"
        case livenessMilliseconds = "liveness_ms"
    }

    package init(callID: String) { self.callID = callID }
}

/// The audio a hello or a welcome speaks of: codecs as rtpmap names, best first, and their payload types on the line.
package struct LineAudio: Codable, Hashable, Sendable {
    /// The rtpmap name of Opus (RFC 7587 §7).
    package static let opus = "opus/48000/2"

    package var codecs: [String]
    package var payloadTypes: [String: Int]
    package var ssrc: UInt32?
    package var packetTime: Int?
    /// Offsets of redundant copies that are accepted.
    package var red: [Int]?

    private enum CodingKeys: String, CodingKey {
        case codecs, ssrc, red
        case payloadTypes = "payload_types"
        case packetTime = "ptime"
    }

    /// Opus with `payloadType`.
    package init(opus payloadType: PayloadType, ssrc: SSRC) {
        codecs = [Self.opus]
        payloadTypes = [Self.opus: Int(payloadType.rawValue)]
        self.ssrc = ssrc.rawValue
        packetTime = 20
        red = []
    }

    /// The payload type of Opus; nil when it is not spoken, or has a number that RTP cannot carry.
    package var opusPayloadType: PayloadType? {
        guard codecs.contains(Self.opus), let number = payloadTypes[Self.opus] else { return nil }
        return PayloadType(number)
    }
}

/// An SDP offer or answer with, perhaps, the first flight of the handshake.
package struct PathDescription: Codable, Hashable, Sendable {
    package var sdp: String
    /// Datagrams, base64.
    package var dtls: [String]?

    package init(sdp: String, dtls: [String]? = nil) {
        self.sdp = sdp
        self.dtls = dtls
    }
}
