internal import CSRTPCipher
internal import ICELite
internal import TransportMedia

/// Runs calls, one after the other. Confined to one thread at a time; each of its calls draws OpenSSL's random numbers from
/// the scenario's seed.
package final class Simulation {
    /// The seed of the process's certificate and of what OpenSSL sets up once.
    private static let processSeed: UInt64 = 1
    /// A day that certificates are made on, whenever the process runs.
    private static let certificateDay: Int64 = 1_800_000_000

    private static let hasCipher = srtp_cipher_install() == 1

    private let certificate: DTLSCertificate
    private var room: [(at: Instant, what: Observation)] = []

    /// Makes the certificate of all its calls.
    ///
    /// - Throws: what a machine cannot be made for.
    package init() throws {
        SRTPSession.prepareLibrary()
        precondition(Self.hasCipher, "libsrtp2 does not take another AES-GCM")
        certificate = try OpenSSLDraws.seeded(Self.processSeed) {
            try DTLSCertificate(secondsSince1970: Self.certificateDay)
        }
        // What is set up once draws its numbers here, not in whichever call comes first.
        var scenario = Scenario()
        scenario.duration = .seconds(1)
        _ = try run(scenario)
    }

    /// Runs one call to its end.
    ///
    /// - Throws: what a machine cannot be made for.
    package func run(_ scenario: Scenario) throws -> ObservedCall {
        try OpenSSLDraws.seeded(scenario.seed) {
            // Out of our hands first: only memory that nobody else holds is used again.
            let room = self.room
            self.room = []
            return try SimulatedCall(scenario, certificate: certificate, room: consume room).run()
        }
    }

    /// Takes a call's memory, to be used again by the next.
    package func reuse(_ call: consuming ObservedCall) { room = call.observations }
}
