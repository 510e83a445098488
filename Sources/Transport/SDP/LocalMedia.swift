/// What we say of our one audio section in an offer or an answer.
package struct LocalMedia: Hashable, Sendable {
    /// ICE user name fragment, 4…256 characters.
    package var ufrag: String
    /// ICE password, 22…256 characters.
    package var password: String
    /// We are an ICE lite end.
    package var isLite: Bool
    /// `sha-256 AA:BB:…`, of the certificate that DTLS will show.
    package var fingerprint: String
    /// The stream we send.
    package var ssrc: SSRC
    /// Its canonical name: visible ASCII, 1…255 characters.
    package var cname: String
    /// The number of Opus in our offer; an answer takes the offer's.
    package var opusPayloadType = PayloadType.defaultOpus
    /// The name of the section in our offer; an answer takes the offer's.
    package var mid = "0"
    /// Candidate attributes, `candidate:…`. What is none of component 1 over UDP is not written.
    package var candidates: [String] = []
    /// No candidate follows. Then the media line names one of them, for peers that do not trickle.
    package var endOfCandidates = false
    /// `o=`'s number of the session, below 2⁶³.
    package var sessionID: UInt64
    /// `o=`'s version: one more with each description that differs.
    package var sessionVersion = 1
    /// We send and understand Loss RLE reports (RFC 3611).
    package var understandsLossRLE = false

    package init(
        ufrag: String, password: String, isLite: Bool, fingerprint: String, ssrc: SSRC, cname: String, sessionID: UInt64
    ) {
        self.ufrag = ufrag
        self.password = password
        self.isLite = isLite
        self.fingerprint = fingerprint
        self.ssrc = ssrc
        self.cname = cname
        self.sessionID = sessionID
    }
}
