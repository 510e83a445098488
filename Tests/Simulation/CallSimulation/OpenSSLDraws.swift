internal import CSeededRandom

/// Random bytes of OpenSSL from a seed, on this thread and for a while: the same handshake bytes in every process.
enum OpenSSLDraws {
    private static let isInstalled = seeded_random_install() == 1

    /// Runs `body` with OpenSSL's draws of this thread from `seed`.
    static func seeded<Result>(_ seed: UInt64, _ body: () throws -> Result) rethrows -> Result {
        precondition(isInstalled, "OpenSSL does not take another source of random numbers")
        seeded_random_start(seed)
        defer { seeded_random_stop() }
        return try body()
    }
}
