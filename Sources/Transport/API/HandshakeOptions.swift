package import TransportMedia

/// The steps by which the media path is ready in two round trips instead of four, each with a switch of its own: to
/// measure what it brings, or for a peer that cannot live with it. What each did is in `MediaPathSnapshot`.
///
/// The certificates' fingerprints travel on the same line as these flights: what the line's TLS is worth, they are.
public struct HandshakeOptions: Hashable, Sendable {
    /// The offer carries the ClientHello and the answer the server's flight (`webrtc.dtls` of hello and welcome). At the
    /// endpoint: such an offer is answered with a flight.
    public var helloInOffer = true
    /// Once a peer answers on the line, the later flights go there, too, beside UDP: whichever comes first counts.
    public var flightsOnLine = true
    /// A flight follows the first check of each of the first three pairs at once. Else it waits for a pair that is
    /// answered. At the client only: an endpoint sends nowhere else.
    public var flightBehindCheck = true
    /// Media is sent from our own Finished on, where a pair is answered, without waiting for the peer's. At the client
    /// only: an endpoint's Finished is the last.
    public var earlyMedia = true
    /// SRTP profiles that are offered and taken, most wanted first; never empty.
    package var srtpProfiles: [SRTPProfile] = [.aeadAES128GCM, .aes128CMHMACSHA1_80]
    /// No protection can be made of the negotiated keys, as when a library fails: for tests of `internal_error`.
    package var refusesKeys = false

    public init() {}
}
