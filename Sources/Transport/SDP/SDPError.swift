/// Why a session description cannot be used.
package enum SDPError: Error, Equatable, Sendable {
    /// More than 64 KiB.
    case tooLarge
    /// A line (from 1) that no session description has there.
    case grammar(line: Int)
    /// No audio section, or only rejected ones.
    case noAudio
    /// No Opus at 48 kHz among the audio formats.
    case noCommonCodec
    /// The answer names a payload type for Opus that was not offered.
    case payloadTypeNotOffered(Int)
    /// No fingerprint of a hash we accept (sha-256, sha-384, sha-512).
    case noFingerprint
    /// There are fingerprints, but none is well formed.
    case badFingerprint
    /// RTP and RTCP would need ports of their own.
    case noRtcpMux
    /// `a=setup` is missing, or says what cannot be in its place: an answer must choose, an offer must let us be passive.
    case badSetup(String?)
    /// The answer's mid is not the offer's.
    case wrongMid(String)
    /// A mid is no token, or two sections have the same.
    case badMid(String)
    /// `ice-ufrag` or `ice-pwd` is missing or malformed.
    case badCredentials
    /// The transport is none that DTLS-SRTP can stand behind.
    case badProtocol(String)
    /// The answer has another number of media sections than the offer.
    case wrongSectionCount(Int)
}

extension SDPError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLarge: "the session description is larger than 64 KiB"
        case .grammar(let line): "line \(line) is not session description"
        case .noAudio: "there is no audio section"
        case .noCommonCodec: "Opus is not offered"
        case .payloadTypeNotOffered(let type): "payload type \(type) was not offered"
        case .noFingerprint: "there is no usable certificate fingerprint"
        case .badFingerprint: "the certificate fingerprint is malformed"
        case .noRtcpMux: "a=rtcp-mux is missing: rtcp-mux required"
        case .badSetup(nil): "a=setup is missing"
        case .badSetup(let role?): "a=setup:\(role) cannot be here"
        case .wrongMid(let mid): "the mid \(mid) was not offered"
        case .badMid(let mid): "the mid \(mid) is malformed or not the only one of its name"
        case .badCredentials: "a=ice-ufrag or a=ice-pwd is missing or malformed"
        case .badProtocol(let name): "the transport \(name) is not supported"
        case .wrongSectionCount(let count): "the answer has \(count) media sections instead of 1"
        }
    }
}
