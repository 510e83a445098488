internal import CSeededRandom

/// Every random byte that OpenSSL takes in this process, from a seed: the same handshake bytes in every process.
package enum OpenSSLDraws {
    /// From now on OpenSSL draws from `seed`. For a process that makes no real call any more.
    package static func seed(_ seed: UInt64) {
        let isTaken = seeded_random_install(seed) == 1
        precondition(isTaken, "OpenSSL does not take another source of random numbers")
    }

    /// Begins a stream anew at `seed`, once `seed(_:)` was called.
    package static func restart(_ seed: UInt64) { seeded_random_restart(seed) }
}
