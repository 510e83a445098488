package import ICELite
package import Transport

/// A simulated call as it was asked for: the two ends, the networks between them and what goes wrong when.
///
/// A value with a text form, one line an item; `Scenario(parsing:)` and `text` are each other's inverse.
package struct Scenario: Hashable, Sendable {
    /// Decides every draw of the run.
    package var seed: UInt64 = 1
    /// When the call is hung up by its client if nothing ended it before, counted from the start.
    package var duration: Nanoseconds = .seconds(30)
    package var client = ClientPart()
    package var server = ServerPart()
    /// The client's networks, most preferred first; the line runs over the first one.
    package var networks: [NetworkPart] = [NetworkPart(name: "wlan0")]
    package var faults: [Fault] = []
    /// All faults stop and one carriage is good from then on; nil where faults may last.
    package var healing: Healing?
    /// The generator has kept it calm.
    package var isCalm = false

    package init() {}

    /// The client's side.
    package struct ClientPart: Hashable, Sendable {
        package var preference = CallTransport.auto
        package var recovery = RecoveryPolicy.continueOnWebSocket
        /// The agent's call audio is known to be Standard beforehand.
        package var isStandard = false
        /// This build has a media path.
        package var hasMediaPath = true
        /// Its library makes nothing of the media path's keys.
        package var refusesKeys = false
        /// Each input waits this long for its handler at most.
        package var stall: Nanoseconds = 0
        /// The timestamps of its audio pass the end of their range after so much of it; nil where they begin anywhere.
        package var wrap: Nanoseconds?
        package var messages = MessagesPart()

        package init() {}
    }

    /// The server's side.
    package struct ServerPart: Hashable, Sendable {
        /// What it makes of an offer.
        package enum Answer: String, Hashable, Sendable, CaseIterable {
            /// It answers.
            case usable
            /// The answer's `setup` is `actpass`.
            case actpass
            /// It says no, with a word.
            case declined
            /// The agent's call audio is Standard.
            case standard
            /// The welcome has no answer: an older server.
            case missing
            /// It presents another certificate than its answer names.
            case wrongCertificate = "wrong-certificate"
            /// It knows none of the offered SRTP profiles.
            case noProfile = "no-profile"
            /// It names no address that UDP reaches.
            case noCandidates = "no-candidates"
            /// It is no lite end, names no address, and does not say that none is to come.
            case noTrickle = "no-trickle"
            /// Its password is another than its answer says.
            case wrongPassword = "wrong-password"
            /// It answers checks and no handshake.
            case deaf
            /// It answers the handshake with a fatal alert.
            case alert
        }

        package var answer = Answer.usable
        /// The upgrade is refused with this HTTP status; nil to take the call.
        package var refusal: Int?
        package var stall: Nanoseconds = 0
        /// The timestamps of its audio pass the end of their range after so much of it; nil where they begin anywhere.
        package var wrap: Nanoseconds?
        package var messages = MessagesPart()

        package init() {}
    }

    /// What an end's application sends while the call is active.
    package struct MessagesPart: Hashable, Sendable {
        package var count = 0
        package var byteCounts = 40...900

        package init() {}
    }

    /// What stops the faults.
    package struct Healing: Hashable, Sendable {
        /// The carriage that is good from then on.
        package enum Carriage: String, Hashable, Sendable, CaseIterable {
            case path
            case line
        }

        package var at: Nanoseconds
        package var carriage: Carriage

        package init(at: Nanoseconds, carriage: Carriage) {
            self.at = at
            self.carriage = carriage
        }
    }
}
