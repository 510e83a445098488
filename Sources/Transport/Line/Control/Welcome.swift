/// `transport.welcome`: the server's answer to hello.
package struct Welcome: Codable, Hashable, Sendable {
    /// Why an offer was not answered.
    package struct Declined: Codable, Hashable, Sendable {
        package var word: String
        package var detail: String?

        package init(word: String, detail: String? = nil) {
            self.word = word
            self.detail = detail
        }
    }

    package var version: Int? = 1
    package var session: String?
    package var callAudio: String?
    package var audio: LineAudio?
    package var livenessMilliseconds: Int?
    package var webrtc: PathDescription?
    package var webrtcDeclined: Declined?

    private enum CodingKeys: String, CodingKey {
        case version, session, audio, webrtc
        case callAudio = "call_audio"
        case livenessMilliseconds = "liveness_ms"
        case webrtcDeclined = "webrtc_declined"
    }

    package init() {}
}
