internal import ICELite
internal import TransportMedia

/// Runs calls, one after the other, in one process. Confined to one thread.
package final class Simulation {
    /// The seed of the process's certificate and of what OpenSSL and libsrtp2 do once.
    private static let processSeed: UInt64 = 1
    /// A day that certificates are made on, whenever the process runs.
    private static let certificateDay: Int64 = 1_800_000_000

    private let certificate: DTLSCertificate
    private var room: [(at: Instant, what: Observation)] = []

    /// Seeds OpenSSL for the whole process, and makes its certificate.
    ///
    /// - Throws: what a machine cannot be made for.
    package init() throws {
        OpenSSLDraws.seed(Self.processSeed)
        certificate = try DTLSCertificate(secondsSince1970: Self.certificateDay)
        SRTPSession.prepareLibrary()
        // What is set up once draws its numbers here, not in whichever call comes first.
        var scenario = Scenario()
        scenario.duration = .seconds(3)
        _ = try run(scenario)
    }

    /// Runs one call to its end.
    ///
    /// - Throws: what a machine cannot be made for.
    package func run(_ scenario: Scenario) throws -> ObservedCall {
        OpenSSLDraws.restart(scenario.seed)
        let call = try SimulatedCall(scenario, certificate: certificate, room: room)
        room = []
        return call.run()
    }

    /// Gives a call's memory back, to be used again by the next.
    package func reuse(_ call: consuming ObservedCall) { room = call.observations }
}
