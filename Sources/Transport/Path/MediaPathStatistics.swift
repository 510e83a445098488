package import TransportMedia

/// Counters of a media path. Monotonic.
package struct MediaPathStatistics: Sendable, Equatable {
    package var packetsReceived = 0
    package var bytesReceived = 0
    package var packetsSent = 0
    package var bytesSent = 0
    /// Datagrams whose first byte is none of RFC 7983's, or empty.
    package var malformed = 0
    /// STUN messages that were not taken.
    package var checksDropped = 0
    /// Media and handshake records from a tuple that no check authenticated.
    package var untrusted = 0
    /// Early packets beyond what is parked, or parked too long.
    package var parkedOverflow = 0
    /// SRTP and SRTCP that did not authenticate, or was replayed.
    package var unprotectFailed = 0
    /// Media of this call that authenticated and came from an address without a check.
    package var foreignMedia = 0
    /// STUN servers that told no address of a socket's.
    package var reflexiveFailures = 0
    /// Restarts that are not of the peer of before, or that nobody asked for.
    package var restartsRefused = 0
    /// What the steps of `HandshakeOptions` did.
    package var shortcuts = HandshakeShortcuts()
    /// The negotiated profile; nil before the keys.
    package var srtpProfile: SRTPProfile?

    package init() {}
}
