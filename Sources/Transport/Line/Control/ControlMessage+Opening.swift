// The messages that open a call: hello and welcome.
extension ControlMessage {
    /// How an end sends and takes audio.
    package struct AudioDescription: Hashable, Sendable {
        /// rtpmap names, best first: `opus/48000/2`.
        package var codecs: [String]
        /// Each codec's payload type (0…63, 96…127: RFC 5761 §4).
        package var payloadTypes: [String: UInt8]
        /// The SSRC of the line's audio.
        package var ssrc: UInt32
        /// Milliseconds of audio wished for in a packet (1…120).
        package var ptime: Int
        /// Redundancy offsets accepted (RFC 2198); empty when none.
        package var red: [Int]

        package init(codecs: [String], payloadTypes: [String: UInt8], ssrc: UInt32, ptime: Int = 20, red: [Int] = []) {
            self.codecs = codecs
            self.payloadTypes = payloadTypes
            self.ssrc = ssrc
            self.ptime = ptime
            self.red = red
        }
    }

    /// What the client is.
    package struct ClientDescription: Hashable, Sendable {
        package var sdk: String
        package var version: String
        package var appVersion: String
        package var platform: String

        package init(sdk: String = "", version: String = "", appVersion: String = "", platform: String = "") {
            self.sdk = sdk
            self.version = version
            self.appVersion = appVersion
            self.platform = platform
        }
    }

    /// A session description, and the first DTLS flight when it travels with it.
    package struct WebRTC: Hashable, Sendable {
        /// The offer or answer.
        package var sdp: String
        /// DTLS datagrams, at most `maximumFirstDatagrams`.
        package var dtls: [[UInt8]]

        package init(sdp: String, dtls: [[UInt8]] = []) {
            self.sdp = sdp
            self.dtls = dtls
        }
    }

    /// What a client that lost its line asks for.
    package struct Resume: Hashable, Sendable {
        /// Welcome's token. A secret.
        package var token: String
        /// Application frames received so far.
        package var received: UInt64
        /// The client's highest epoch.
        package var epoch: UInt32

        package init(token: String, received: UInt64, epoch: UInt32) {
            self.token = token
            self.received = received
            self.epoch = epoch
        }
    }

    /// The client's first message.
    package struct Hello: Hashable, Sendable {
        package var version: Int
        package var callID: String
        /// `auto`, `websocket` or `webrtc`: what was asked for. Empty when resuming.
        package var preference: String
        /// Whether the call is only brought up, to start later.
        package var prepare: Bool
        /// What the build can do.
        package var transports: [String]
        package var client: ClientDescription
        /// Nil only when resuming.
        package var audio: AudioDescription?
        /// The client's liveness window in milliseconds; nil when it says none.
        package var livenessMilliseconds: Int?
        package var webrtc: WebRTC?
        /// When present, nothing but version and call id is read beside it.
        package var resume: Resume?
        /// The application's own object, carried and not read.
        package var application: [String: JSONValue]?

        package init(
            version: Int = 1, callID: String, preference: String = "", prepare: Bool = false, transports: [String] = [],
            client: ClientDescription = ClientDescription(), audio: AudioDescription? = nil,
            livenessMilliseconds: Int? = nil, webrtc: WebRTC? = nil, resume: Resume? = nil,
            application: [String: JSONValue]? = nil
        ) {
            self.version = version
            self.callID = callID
            self.preference = preference
            self.prepare = prepare
            self.transports = transports
            self.client = client
            self.audio = audio
            self.livenessMilliseconds = livenessMilliseconds
            self.webrtc = webrtc
            self.resume = resume
            self.application = application
        }
    }

    /// A STUN or TURN server the client may use.
    package struct ICEServer: Hashable, Sendable {
        package var urls: [String]
        package var username: String?
        /// A secret.
        package var credential: String?
        /// Seconds the credential holds.
        package var ttlSeconds: Int?

        package init(urls: [String], username: String? = nil, credential: String? = nil, ttlSeconds: Int? = nil) {
            self.urls = urls
            self.username = username
            self.credential = credential
            self.ttlSeconds = ttlSeconds
        }
    }

    /// Why the server answers no offer.
    package struct Declined: Hashable, Sendable {
        /// busy, disabled, offer_invalid, rate_limited, or a newer word.
        package var word: String
        package var detail: String

        package init(word: String, detail: String = "") {
            self.word = word
            self.detail = detail
        }
    }

    /// What each end last asked to receive on the line.
    package struct BridgeState: Hashable, Sendable {
        package var client: Bool
        package var server: Bool

        package init(client: Bool, server: Bool) {
            self.client = client
            self.server = server
        }
    }

    /// The server's answer to hello.
    package struct Welcome: Hashable, Sendable {
        package var version: Int
        /// For logs, the same over resumes.
        package var session: String
        /// The token to resume with; nil when the server cannot. A secret.
        package var resume: String?
        /// `auto` or `standard`.
        package var callAudio: String
        /// Nil only when resuming.
        package var audio: AudioDescription?
        package var livenessMilliseconds: Int?
        /// At most `maximumICEServers`.
        package var iceServers: [ICEServer]
        package var webrtc: WebRTC?
        package var webrtcDeclined: Declined?
        /// SPKI pins of the server; nil when it states none.
        package var serverSPKI: [String]?
        /// When resuming: application frames the server received.
        package var received: UInt64?
        /// When resuming: the epoch in force.
        package var epoch: UInt32?
        /// When resuming: the carriage in force.
        package var transport: String?
        /// When resuming: what each end last asked to receive.
        package var bridge: BridgeState?

        package init(
            version: Int = 1, session: String, resume: String? = nil, callAudio: String = "auto",
            audio: AudioDescription? = nil, livenessMilliseconds: Int? = nil, iceServers: [ICEServer] = [],
            webrtc: WebRTC? = nil, webrtcDeclined: Declined? = nil, serverSPKI: [String]? = nil,
            received: UInt64? = nil, epoch: UInt32? = nil, transport: String? = nil, bridge: BridgeState? = nil
        ) {
            self.version = version
            self.session = session
            self.resume = resume
            self.callAudio = callAudio
            self.audio = audio
            self.livenessMilliseconds = livenessMilliseconds
            self.iceServers = iceServers
            self.webrtc = webrtc
            self.webrtcDeclined = webrtcDeclined
            self.serverSPKI = serverSPKI
            self.received = received
            self.epoch = epoch
            self.transport = transport
            self.bridge = bridge
        }
    }
}
