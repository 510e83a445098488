internal import CBareHandshake

/// The suite `handshakes`: DTLS handshakes of two sessions of ours beside those of two bare OpenSSL objects.
enum Handshakes {
    /// Its benchmarks, in the order of the report; run them with --interleave, trust the ratio.
    static var benchmarks: [Benchmark] {
        [
            Benchmark("handshakes/sessions", note: "both ends, with repeats written in advance") {
                let bench = SessionHandshake()
                return { iterations in
                    for _ in 0..<iterations { precondition(bench?.run() == true, "a handshake must complete") }
                }
            },
            Benchmark("handshakes/openssl-alone", note: "both ends, in C over memory BIOs, no retransmission") {
                let pair = BarePair()
                return { iterations in
                    for _ in 0..<iterations { precondition(pair.run(), "a handshake must complete") }
                }
            },
        ]
    }

    private final class BarePair {
        private let pair = bare_handshake_new()

        deinit { bare_handshake_free(pair) }

        func run() -> Bool { pair != nil && bare_handshake_run(pair) == 1 }
    }
}
