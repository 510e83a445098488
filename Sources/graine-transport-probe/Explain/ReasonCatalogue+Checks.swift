extension ReasonCatalogue {
    /// One for each code that a refusal carries.
    static let refusals: [Entry] = [
        entry(
            .refusal, "invalid_key", "The server does not accept the key (401, 4401).", "A wrong, old or missing key.",
            "Check --token-file or --token-env.", "HTTP status 401, close code 4401"),
        entry(
            .refusal, "origin_refused", "The server does not allow this Origin (403).",
            "The origin is not on the server's list.", "Add it there, or send none.", "HTTP status 403"),
        entry(
            .refusal, "rate_limited", "Too many calls or attempts (429, 4429).", "A limit of the server.",
            "Wait for the time that the server names.", "HTTP status 429, Retry-After"),
        entry(
            .refusal, "not_found", "There is no such call or path (404, 4404).", "A wrong URL.", "Check TARGET.",
            "HTTP status 404, close code 4404"),
        entry(
            .refusal, "unavailable", "The server takes no calls now (503, 4503).", "It is draining or overloaded.",
            "Try again later.", "HTTP status 503, close code 4503"),
        entry(
            .refusal, "network", "DNS, TCP, TLS or the proxy failed before the server could answer.",
            "A wrong name or port, no route, a certificate that is not trusted, a proxy that wants a password.",
            "Check host and port, and that the server listens there.", "getaddrinfo, connect, TLS, HTTP 407"),
        entry(
            .refusal, "untrusted_certificate", "Nobody who is trusted here has signed the server's certificate.",
            "A private or self-signed certificate, or another server than the one that was meant.",
            "Give the server's authority with --ca; for serve it is the file that its READY line names.",
            "X.509 verification, RFC 5280 §6"),
        entry(
            .refusal, "no_path", "The call connected and neither carriage came to carry audio, or the server left.",
            "A server that does not answer hello, or closes the line.", "Look at the server's log.",
            "15 s to welcome, 27 s to active"),
        entry(
            .refusal, "refused", "The server refused with another status.", "See the status.",
            "Look at the server's log.", "HTTP status or close code before welcome"),
    ]

    /// One for each code of a check.
    static let checks: [Entry] = [
        entry(
            .check, "not_active", "The call connected but never became active.",
            "Audio goes only one way, or the server ended the call.", "Look at the call's error and outcome.",
            "active: both ends hear each other; 27 s at most"),
        entry(
            .check, "no_call", "No call was placed.", "Aborted before it began.", "Run it again.", "none"),
        entry(
            .check, "rtt_high", "The round trip is near or above its threshold.",
            "Distance, a detour (VPN), or full queues.", "Use a nearer server; look for a full uplink.",
            "150 ms by default (--threshold rtt); ITU-T G.114: mouth to ear below 150 ms one-way is good"),
        entry(
            .check, "jitter_high", "The jitter is near or above its threshold.", "Wi-Fi, cellular, or full queues.",
            "Try a wired network; look for a full uplink.",
            "30 ms by default (--threshold jitter); RFC 3550 §6.4.1"),
        entry(
            .check, "loss_high", "The loss is near or above its threshold.", "Radio, or a full link.",
            "Try another network; look for a full link.",
            "1 % by default (--threshold loss); before repair"),
        entry(
            .check, "no_echo", "No marker came back.", "The target does not echo (serve does), or no audio comes back.",
            "For a real agent this is expected; otherwise look at the loss.", "1 kHz, 50 ms, at each second"),
        entry(
            .check, "marker_missed", "Some of the echo's markers were not heard.", "Audio was lost just then.",
            "Look at \"lost\" and \"longest gap\".", "1 kHz, 50 ms, at each second"),
        entry(
            .check, "level_mismatch", "The speech that came back has other levels than the one sent.",
            "Loss that was concealed, or something in between that changes the audio.",
            "Look at \"lost\" and \"concealed\".",
            "correlation of 20 ms levels of 0.97 or more"),
        entry(
            .check, "frames_missing", "Parts of the speech did not come back.", "Loss or a gap.",
            "Look at \"lost\" and \"longest gap\".", "98 % of the audible 20 ms frames"),
        entry(
            .check, "unexpected_end", "A call of the self-test did not end as expected.",
            "Another carriage or reason than the one that was caused.", "Report it with the JSON report.",
            "the self-test's expectations"),
        entry(
            .check, "aborted", "The command was stopped before it was done.", "Ctrl-C or SIGTERM.",
            "Let it run to its end for a verdict.", "none"),
        entry(
            .check, "timed_out", "The command was not done when --timeout ran out.",
            "A call that hangs, or too short a timeout.", "Give it more time; see what it waited for.", "--timeout"),
        entry(
            .check, "call_lost", "The active call broke off.", "The network or the server went away.",
            "See the detail; look at the server's log.", "10 s of a broken media path (TransportLimits), or a lost line"
        ),
        entry(
            .check, "not_caused", "The outage was not caused.",
            "The call was over, or not on the media path, two seconds after active.",
            "See recovery.unknown_because.how; give it --duration 3 or more, or see why it is on the WebSocket.",
            "recover --cause"),
        entry(
            .check, "gap_long", "The outage was heard for longer than a recovery is meant to take.",
            "The line could not carry the audio meanwhile, or the outage was noticed late.",
            "Look at detect_ms and at the line.",
            "gap_ms, or heard_gap_ms where the library noticed nothing: above 700 ms"),
        entry(
            .check, "too_short", "The call was too short to tell how it sounds.",
            "No marker was due: the first comes a second after active.", "Let it last 3 s or more (--duration).",
            "1 kHz, 50 ms, at each second"),
        entry(
            .check, "audio_unsuitable", "The audio that was sent is unfit for this comparison.",
            "A steady tone has no level that varies, a tone near 1 kHz or noise covers the marker.",
            "Send speech: without --audio the probe's own.", "none"),
        entry(
            .check, "machine_busy", "This machine was too busy to keep time; the network is not to blame.",
            "Other programs use its processors.", "Run it again when the machine is idle.",
            "a timer 100 ms late, or 5 % of them a 20 ms frame late; a single one without a network between"),
    ]

    private static func entry(
        _ kind: Kind, _ code: String, _ meaning: String, _ cause: String, _ advice: String, _ source: String
    ) -> Entry {
        Entry(code: code, kind: kind, meaning: meaning, cause: cause, advice: advice, source: source)
    }
}
