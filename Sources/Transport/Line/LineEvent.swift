/// What a `LineConnection` tells its owner.
///
/// Exactly one of `refused` and `closed` comes, and nothing after it.
package enum LineEvent: Hashable, Sendable {
    /// Server: a client wants in. Answer with `accept(now:)` or `refuse(_:now:)`.
    case upgradeRequested(UpgradeRequest)
    /// The upgrade is done: text and audio may go.
    case opened
    /// A whole text, valid UTF-8. Read it with `bytes(_:)` before the next `pollEvent` or `receive`.
    case text(Range<Int>)
    /// A whole binary message: an RTP or RTCP packet. Read as `text`.
    case binary(Range<Int>)
    /// A text of this many bytes was too large to deliver and was skipped. The line lives.
    case textTooLarge(Int)
    /// The upgrade failed. On a server: the request was malformed, and the response that says so is to be sent.
    case refused(LineRefusal)
    /// The line is over. `code` is the peer's; ours when we failed the connection; 1006 without a close frame; nil when the
    /// peer's close frame had none.
    case closed(code: UInt16?, reason: String)
}

/// What a `LineConnection` has counted.
package struct LineCounters: Hashable, Sendable {
    /// Texts sent and received.
    package var textsSent = 0
    package var textsReceived = 0
    /// Texts skipped for their size.
    package var textsTooLarge = 0
    /// Texts not taken: not open, too long, or too much queued.
    package var textsNotTaken = 0
    /// Binary messages sent (written to the output) and received.
    package var binarySent = 0
    package var binaryReceived = 0
    /// Audio packets dropped because newer ones came before they could be sent.
    package var audioDropped = 0
    /// Audio packets not taken: not open, empty or too long.
    package var audioNotTaken = 0
    /// Pings sent, pings received, and those of the latter that a newer one made needless to answer.
    package var pingsSent = 0
    package var pingsReceived = 0
    package var pongsCoalesced = 0
    /// Stream bytes in and out.
    package var bytesReceived = 0
    package var bytesSent = 0

    package init() {}
}
