import ICELite
import Testing
import TransportMedia
import TransportTestKit

@testable import Transport

/// The hello in the offer where it does not go as it should.
@Suite("The hello in the offer") struct HelloInOfferTests {
    private let certificate: DTLSCertificate
    private let credentials: ICECredentials
    private let offer: RemotePathDescription
    private let local: LocalMedia

    init() throws {
        certificate = try #require(DTLSCertificate.shared)
        var randomness = Randomness.seeded(5)
        credentials = ICECredentials.random(using: &randomness)
        local = PathPair.media(credentials, isLite: false, certificate, PathPair.clientSSRC)
        offer = try RemotePathDescription(try RemoteMedia(offer: SessionDescription.makeOffer(local)))
    }

    private func client(_ options: HandshakeOptions = HandshakeOptions()) -> MediaPath {
        MediaPath(
            controlling: credentials, certificate: certificate, localSSRC: PathPair.clientSSRC,
            options: options, randomness: .seeded(1))
    }

    private func server(_ options: HandshakeOptions = HandshakeOptions()) throws -> MediaPath {
        var randomness = Randomness.seeded(6)
        return try MediaPath(
            lite: ICECredentials.random(using: &randomness), remote: offer, certificate: certificate,
            localSSRC: PathPair.serverSSRC, options: options, randomness: .seeded(2),
            now: .zero)
    }

    @Test("The ClientHello is one datagram, the answer at most two and 3 KB, and neither goes over UDP by itself")
    func flights() throws {
        var client = client()
        var server = try server()
        let hello = client.offerHello(now: .zero)
        #expect(hello.count == 1)
        let flight = try server.answerHello(hello, now: .zero)
        #expect((1...2).contains(flight.count))
        #expect(flight.reduce(0) { $0 + $1.count } <= MediaPath.offeredFlightLimit)
        let deadlines = (client.nextDeadline, server.nextDeadline)
        #expect(deadlines == (.never, .never))
        let again = client.offerHello(now: .zero)
        #expect(again.isEmpty)
    }

    @Test("A ClientHello that cannot be used is as if none had come: the handshake begins anew over UDP")
    func unusable() throws {
        var client = client()
        let hello = try #require(client.offerHello(now: .zero).first)
        var second = hello
        // Another version of the protocol, and of the record.
        for index in [1, 2, 25, 26] { second[index] = 0 }
        let unusable: [[[UInt8]]] = [
            [[]], [[22]], [Array(hello.prefix(hello.count / 2))], [[UInt8](repeating: 22, count: 1_500)], [second],
            [[21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 40]],
        ]
        for datagrams in unusable {
            var server = try server()
            let flight = try server.answerHello(datagrams, now: .zero)
            #expect(flight.isEmpty, "\(datagrams)")
            let (shortcuts, failure) = (server.statistics.shortcuts, server.evidence.failure)
            #expect(shortcuts.hellosUnusable == 1 && !shortcuts.helloOffered)
            #expect(failure == nil)
            // The session is a new one: the whole ClientHello is answered.
            let answer = try server.answerHello([hello], now: .zero)
            #expect(!answer.isEmpty)
        }
    }

    @Test("Where it is off, nothing is offered, and nothing answered")
    func off() throws {
        var options = HandshakeOptions()
        var offering = client()
        let hello = offering.offerHello(now: .zero)
        options.helloInOffer = false
        var client = client(options)
        var server = try server(options)
        let offered = client.offerHello(now: .zero)
        let answered = try server.answerHello(hello, now: .zero)
        #expect(offered.isEmpty && answered.isEmpty)
        let unusable = server.statistics.shortcuts.hellosUnusable
        #expect(unusable == 0)
    }

    @Test("A peer that answers active gets a server in the client's place, and its flight is not read")
    func activeAnswer() throws {
        var client = client()
        let hello = client.offerHello(now: .zero)
        #expect(!hello.isEmpty)
        var answer = offer
        answer.isActive = true
        try client.setRemote(answer, flight: [[22, 254, 253]], now: .zero)
        let isServer = client.isHandshakeServer
        let shortcuts = client.statistics.shortcuts
        #expect(isServer)
        #expect(shortcuts.helloOffered && !shortcuts.helloAnswered)
        #expect(shortcuts.flightsOnLineReceived == 0)
        // The peer's ClientHello is answered by the server that took the client's place.
        client.takeLineFlight(hello, now: .zero)
        let failure = client.evidence.failure
        #expect(failure == nil)
        let progress = client.evidence.lastHandshakeProgressAt
        #expect(progress == .zero)
    }

    @Test("A flight in the name of an unknown username fragment is ignored and counted")
    func foreignFlight() throws {
        let run = try VirtualCall(seed: 3)
        _ = run.simulator.run(until: .zero + .milliseconds(110))
        let foreign = ControlMessage.DTLSFlights(datagrams: [[22, 254, 253]], ufrag: "nobody")
        run.network.perform(on: try #require(run.client.hostID), at: run.simulator.now) { _ in
            run.client.call.carriages.send(.dtls(foreign))
        }
        run.network.perform(on: try #require(run.server.hostID), at: .zero + .seconds(1)) { _ in
            run.server.call.carriages.send(.dtls(foreign))
        }
        _ = run.simulator.run(until: .zero + .seconds(2))
        #expect(run.client.call.ignoredMessages == 1)
        #expect(run.server.call.ignoredMessages == 1)
        #expect(run.client.call.transport == .webrtc)
    }
}
