extension ReasonCatalogue {
    /// One for each `transportFallbackReason`.
    static let fallbacks: [Entry] = [
        reason(
            "module_missing", "WebRTC was asked for and this build has no media path.",
            "The package was built without its WebRTC trait.", "Build with the WebRTC trait, or ask for auto.",
            "build configuration"),
        reason(
            "agent_standard", "WebRTC was asked for and the agent's In-app call audio is Standard.",
            "The agent's setting wins over the app's.", "Change the agent's In-app call audio if WebRTC is wanted.",
            "the agent's settings, at the latest from welcome"),
        reason(
            "server_unsupported", "The welcome has no answer.", "An older server without a media path.",
            "Update the server.", "call line, version 1: welcome"),
        reason(
            "server_declined", "The server said no to WebRTC, with its word.",
            "Busy, disabled, or the offer was invalid; see the detail.",
            "Look at the word in the detail and at the server's log.", "call line, version 1: webrtc_declined"),
        reason(
            "answer_invalid", "The server's answer cannot be used.",
            "No fingerprint, no common codec, actpass, no rtcp-mux, wrong mid, or bad grammar.",
            "Report it to whoever runs the server, with the detail.", "RFC 8839, RFC 8842, RFC 9143"),
        reason(
            "no_candidates", "There is nothing to pair.",
            "No usable address here, or none from the server; IPv4 against IPv6 only.",
            "Check that both ends have an address of the same family.", "RFC 8445 §5.1 and §6.1.2"),
        reason(
            "udp_blocked", "Every pair refused to send and nothing came back.",
            "A firewall that rejects UDP, no route, or (port unreachable from the target itself) a server that is not "
                + "listening.",
            "Open UDP to the server's media port; if the target itself answered port unreachable, look at the server.",
            "errno of the send or ICMP through the error queue, RFC 1122 §4.1.3.3"),
        reason(
            "ice_no_response", "Checks were sent and nothing came back.",
            "A firewall or NAT drops UDP silently.", "Allow UDP to the server's media port and back.",
            "3 s after the last new pair (TransportLimits), RFC 8445 §7"),
        reason(
            "ice_rejected", "Checks got only error responses.",
            "Wrong password (a mix-up of sessions), a role conflict that does not end, or a middlebox.",
            "Look at the error codes in the detail and at the server's log.", "RFC 8445 §7.2.5, RFC 8489 §14.8"),
        reason(
            "dtls_timeout", "ICE worked and the DTLS handshake made no progress.",
            "A middlebox drops large or DTLS packets; an MTU problem.",
            "Look for a firewall that inspects UDP; try a smaller MTU.",
            "max(3 s, 8 RTT) after the handshake's last progress (TransportLimits), RFC 9147 and RFC 6347 §4.2.4"),
        reason(
            "dtls_failed", "The DTLS handshake ended with an alert or without a common suite.",
            "Incompatible configuration of the two ends.", "Compare versions and cipher suites; see the detail.",
            "RFC 6347, RFC 5246 §7.2"),
        reason(
            "dtls_fingerprint_mismatch", "The certificate is not the one that was signalled.",
            "Somebody is in between, or the server signs with another certificate than it shows.",
            "Treat it as a security event until it is explained.", "RFC 8122 §5, RFC 8842 §5.1"),
        reason(
            "srtp_profile_mismatch", "No common SRTP profile.", "One end has AES-GCM only, the other none.",
            "Enable SRTP_AEAD_AES_128_GCM or SRTP_AES128_CM_SHA1_80 on both ends.", "RFC 5764 §4.1.2, RFC 7714"),
        reason(
            "media_timeout", "Keys are there, but no audio came (downlink) or ours was not heard (uplink).",
            "One direction of the path is blocked, or the far end sends nothing.",
            "See the stage for the direction; allow UDP both ways.",
            "max(3 s, 8 RTT) after keys; 2 s for the uplink (TransportLimits)"),
        reason(
            "setup_timeout", "The 12 s for WebRTC ended at a stage that no other reason names.",
            "Very long round trips or heavy loss.", "Look at the stage and at the setup times of the report.",
            "12 s from hello: the published contract"),
        reason(
            "recovery_failed", "The path was lost in the call, did not come back, and the call continues on the line.",
            "The network changed or UDP stopped working.", "Nothing for the call; see the network if it happens often.",
            "10 s from the suspicion, the line heard within 2 s (TransportLimits); the published contract"),
        reason(
            "server_requested", "The server asked for the WebSocket.", "Its own reasons: load, maintenance.",
            "See the word in the detail.", "call line, version 1: transport.fallback"),
        reason(
            "internal_error", "A mistake in this library.", "Unknown; the detail says where.",
            "Report it with the JSON report.", "none"),
    ]

    private static func reason(
        _ code: String, _ meaning: String, _ cause: String, _ advice: String, _ source: String
    ) -> Entry {
        Entry(code: code, kind: .fallback, meaning: meaning, cause: cause, advice: advice, source: source)
    }
}
