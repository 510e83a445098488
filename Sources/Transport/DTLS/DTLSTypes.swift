/// Which half of the handshake an end plays (RFC 5763 §5: the answer's `setup` decides it).
package enum DTLSRole: Sendable, Hashable {
    /// Sends the ClientHello: `setup:active`.
    case client
    /// Waits for it: `setup:passive`.
    case server
}

/// What a datagram of the handshake came by.
package enum DTLSCarriage: Sendable, Hashable {
    /// UDP: anybody who knows the addresses can write records in the clear.
    case udp
    /// Inside a message of the call line: the peer wrote it.
    case line
}

/// Why a DTLS object could not be made.
package enum DTLSError: Error, Equatable, Sendable {
    /// OpenSSL could not make a key, a certificate or a session.
    case openSSL
    /// Neither offer nor answer is possible without a profile.
    case noProfiles
}

/// What became of a datagram that was handed to `DTLSSession`.
package enum DTLSVerdict: Equatable, Sendable {
    /// Taken; nothing to be seen yet (part of a flight, a repeat, or junk that OpenSSL passes over in silence).
    case accepted
    /// The handshake moved: a flight is complete, an answer to it, keys or an end may be polled.
    case advanced
    /// Not given to OpenSSL, or only in part.
    case dropped(DTLSDropReason)
}

/// Why a datagram was not given to OpenSSL. The raw value is the place in `DTLSStatistics`.
package enum DTLSDropReason: Int, Equatable, Sendable, CaseIterable {
    /// Not a DTLS record by its first byte, or too short or too long for one (RFC 7983 §7).
    case malformed
    /// The session has not started, has failed or is closed.
    case ended
    /// An alert in the clear, over UDP. During the handshake it is kept in mind if it is a fatal one or close_notify: it
    /// fails the handshake if nothing valid follows. Not once a flight came by the line.
    case plaintextAlert
    /// A record in the clear that is neither a handshake message nor a ChangeCipherSpec; at a client that has sent its
    /// Finished also a handshake message, over UDP.
    case plaintextRecord
    /// An encrypted record beyond `DTLSSession.maximumEarlyRecords`, before the handshake was over.
    case earlyRecord
}

/// Why a handshake or an association failed.
package enum DTLSFailure: Error, Equatable, Sendable {
    /// The peer sent this fatal alert, or close_notify (0) before it had completed (RFC 5246 §7.2).
    case alert(UInt8)
    /// The peer's certificate is not the one its description names (RFC 8122 §6).
    case fingerprintMismatch
    /// The handshake came to its end without an SRTP profile both ends know.
    case noSRTPProfile
    /// OpenSSL refused what the peer sent, in OpenSSL's words.
    case protocolError(String)
}

/// What the owner of a `DTLSSession` should know, oldest first.
package enum DTLSEvent: Sendable {
    /// Once: exporter final, fingerprint verified, profile agreed. At the client this comes with its Finished, before the
    /// peer's: the keys are provisional until `.completed`, and have to go if `.failed` comes instead.
    case keys(SRTPKeys)
    /// Once, after `.keys`: both Finished are verified.
    case completed
    /// Last: the association is dead.
    case failed(DTLSFailure)
    /// Last: the peer said close_notify after completion.
    case closed
}

/// Counts and facts of one session.
package struct DTLSStatistics: Sendable {
    /// Times our deadline sent a flight again.
    package internal(set) var retransmits = 0
    /// Of those, times no pre-written repeat was there and the originals went out. Should stay 0.
    package internal(set) var repeatsMissing = 0
    /// Times the last flight went out again because the peer still asked for it.
    package internal(set) var lastFlightResends = 0
    /// Datagrams given to OpenSSL.
    package internal(set) var datagramsReceived = 0
    /// Datagrams polled.
    package internal(set) var datagramsSent = 0
    /// Datagrams thrown away because too many waited to be polled.
    package internal(set) var datagramsOverflowed = 0
    /// Repeats that were written in advance for the current flight: 8, or 0 for a server's last.
    package internal(set) var repeatsWritten = 0
    /// Errors OpenSSL reported after completion, which end nothing.
    package internal(set) var lateErrors = 0
    /// "DTLSv1.2" once agreed.
    package internal(set) var version = ""
    /// OpenSSL's name of the suite, once agreed.
    package internal(set) var cipher = ""
    /// The SRTP profile, once agreed.
    package internal(set) var srtpProfile: SRTPProfile?
    private var drops = InlineArray<5, Int>(repeating: 0)

    /// Datagrams dropped for `reason`, in whole or in part.
    package func dropped(_ reason: DTLSDropReason) -> Int { drops[reason.rawValue] }

    mutating func count(_ reason: DTLSDropReason) { drops[reason.rawValue] += 1 }
}
