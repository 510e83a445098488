// The messages of a running call.
extension ControlMessage {
    /// A trickled candidate, or the end of them.
    package struct Candidate: Hashable, Sendable {
        /// The attribute from `candidate:` on (RFC 8839); nil at the end of candidates.
        package var candidate: String?
        /// The sender's ufrag.
        package var ufrag: String

        package init(candidate: String?, ufrag: String) {
            self.candidate = candidate
            self.ufrag = ufrag
        }
    }

    /// DTLS datagrams that travel on the line.
    package struct DTLSFlights: Hashable, Sendable {
        /// At most `maximumDatagrams`, each at most `maximumDatagramBytes`.
        package var datagrams: [[UInt8]]
        package var ufrag: String

        package init(datagrams: [[UInt8]], ufrag: String) {
            self.datagrams = datagrams
            self.ufrag = ufrag
        }
    }

    /// Why the call runs on the WebSocket though it wanted WebRTC.
    package struct FallbackReport: Hashable, Sendable {
        package var reason: String
        package var stage: String
        /// Milliseconds since hello.
        package var elapsedMilliseconds: Int64
        package var detail: String

        package init(reason: String, stage: String, elapsedMilliseconds: Int64, detail: String = "") {
            self.reason = reason
            self.stage = stage
            self.elapsedMilliseconds = elapsedMilliseconds
            self.detail = detail
        }
    }

    /// The client's decision which carriage is in use.
    package struct Select: Hashable, Sendable {
        /// Counts up.
        package var epoch: UInt32
        /// `websocket` or `webrtc`.
        package var transport: String
        package var fallback: FallbackReport?
        /// Highest extended sequence number heard; nil before the first, and where the two carriages' numbers differ.
        package var heardTo: UInt64?

        package init(epoch: UInt32, transport: String, fallback: FallbackReport? = nil, heardTo: UInt64? = nil) {
            self.epoch = epoch
            self.transport = transport
            self.fallback = fallback
            self.heardTo = heardTo
        }
    }

    /// The server's acknowledgement: the epoch in force, and whether the client is heard there.
    package struct Selected: Hashable, Sendable {
        package var epoch: UInt32
        package var heard: Bool

        package init(epoch: UInt32, heard: Bool) {
            self.epoch = epoch
            self.heard = heard
        }
    }

    /// What its sender wants to receive on the line beside the selected carriage.
    package struct Bridge: Hashable, Sendable {
        package var on: Bool
        package var epoch: UInt32

        package init(on: Bool, epoch: UInt32) {
            self.on = on
            self.epoch = epoch
        }
    }

    /// An ICE restart's offer or answer, named by the offer's ufrag.
    package struct Restart: Hashable, Sendable {
        package var ufrag: String
        package var sdp: String

        package init(ufrag: String, sdp: String) {
            self.ufrag = ufrag
            self.sdp = sdp
        }
    }

    /// The server's wish that the client select the WebSocket.
    package struct Fallback: Hashable, Sendable {
        package var word: String
        package var detail: String

        package init(word: String, detail: String = "") {
            self.word = word
            self.detail = detail
        }
    }

    /// Audio to be thrown away unplayed.
    package struct Flush: Hashable, Sendable {
        /// Who sent the audio: `client` or `server`.
        package var stream: String
        /// Extended sequence number before which all goes, exclusive; nil for everything.
        package var before: UInt64?

        package init(stream: String, before: UInt64? = nil) {
            self.stream = stream
            self.before = before
        }
    }

    /// What a flush has dropped.
    package struct Flushed: Hashable, Sendable {
        /// Who sent the audio; nil when the sender left it out.
        package var stream: String?
        /// First extended sequence number that was not dropped.
        package var before: UInt64
        /// Milliseconds of that stream played since active.
        package var playedMilliseconds: UInt64

        package init(stream: String? = nil, before: UInt64, playedMilliseconds: UInt64) {
            self.stream = stream
            self.before = before
            self.playedMilliseconds = playedMilliseconds
        }
    }

    /// A place in the server's audio whose playing is to be reported.
    package struct Mark: Hashable, Sendable {
        package var id: String
        /// Extended sequence number.
        package var at: UInt64

        package init(id: String, at: UInt64) {
            self.id = id
            self.at = at
        }
    }

    /// A mark was reached, or cleared by a flush.
    package struct Marked: Hashable, Sendable {
        package var id: String
        /// True when it was played, false when it was cleared.
        package var played: Bool

        package init(id: String, played: Bool) {
            self.id = id
            self.played = played
        }
    }

    /// Application frames received so far.
    package struct Ack: Hashable, Sendable {
        package var received: UInt64

        package init(received: UInt64) { self.received = received }
    }

    /// The end of the call; 1000 follows.
    package struct Bye: Hashable, Sendable {
        /// `client`, `server` or `failure`.
        package var by: String
        package var message: String?

        package init(by: String, message: String? = nil) {
            self.by = by
            self.message = message
        }
    }

    /// An error, before the line is closed with its code unless said otherwise.
    package struct LineError: Hashable, Sendable {
        /// A `LineErrorCode`, or a newer word.
        package var code: String
        package var message: String
        package var retryAfterSeconds: Int?

        package init(code: String, message: String, retryAfterSeconds: Int? = nil) {
            self.code = code
            self.message = message
            self.retryAfterSeconds = retryAfterSeconds
        }
    }
}
