import ICELite
import Testing
import TransportLine
import TransportMedia
import TransportTestKit

@testable import Transport

/// Answers a client cannot live with, and the reason it gives; one it can live with although it is not ours.
@Suite("Answers that mean trouble") struct AnswerTroubleTests {
    /// What `welcome` with a changed answer makes of a call: nil while it still waits for the media path.
    private func fallback(
        flight changeFlight: (_ hello: [[UInt8]], _ flight: [[UInt8]]) -> [[UInt8]] = { $1 },
        _ change: (String) -> String
    ) throws -> TransportFallback? {
        let certificate = try #require(DTLSCertificate.shared)
        let run = try VirtualCall(seed: 9)
        // Hello is on its way, welcome is not.
        _ = run.simulator.run(until: .zero + .milliseconds(110))
        let client = run.client
        let local = client.call.localMedia
        let media = try #require(local)
        let offer = try RemoteMedia(offer: SessionDescription.makeOffer(media))
        var randomness = Randomness.seeded(4)
        let credentials = ICECredentials.random(using: &randomness)
        var path = try MediaPath(
            lite: credentials, remote: RemotePathDescription(offer), certificate: certificate, localSSRC: 7,
            randomness: randomness.split("path"), now: client.call.timings.hello ?? .zero)
        var answering = PathPair.media(credentials, isLite: true, certificate, 7)
        answering.candidates = [ICECandidate(host: VirtualCall.serverAddress, localPreference: .max).attribute]
        answering.endOfCandidates = true
        let answer = change(try SessionDescription.makeAnswer(to: offer, answering))
        // The ClientHello of the call's own session.
        let hello = client.call.carriages.path?.dtls?.flight ?? []
        let flight = try path.answerHello(hello, now: run.simulator.now)
        #expect(!flight.isEmpty)
        var welcome = ControlMessage.Welcome(session: "s")
        welcome.audio = ControlMessage.AudioDescription(opus: .defaultOpus, ssrc: SSRC(7))
        welcome.webrtc = ControlMessage.WebRTC(sdp: answer, dtls: changeFlight(hello, flight))
        client.call.handle(welcome, now: run.simulator.now)
        client.call.settle(now: run.simulator.now)
        return client.call.fallback
    }

    private func replacing(_ old: String, _ new: String) -> (String) -> String {
        { answer in
            #expect(answer.contains(old), "\(old)")
            return answer.split(separator: "\r\n").map { line in
                line.hasPrefix(old) ? Substring(new) : line
            }.filter { !$0.isEmpty }.map { $0 + "\r\n" }.joined()
        }
    }

    @Test("The answer as it is keeps the call waiting for its path")
    func good() throws {
        #expect(try fallback { $0 } == nil)
    }

    @Test("A certificate that is not the signalled one: dtls_fingerprint_mismatch, as soon as its flight is there")
    func fingerprint() throws {
        let other = "a=fingerprint:sha-256 " + Array(repeating: "AB", count: 32).joined(separator: ":")
        let given = try fallback(replacing("a=fingerprint:", other))
        #expect(given?.reason == .dtlsFingerprintMismatch)
        #expect(given?.stage == .dtls)
    }

    @Test(
        "An answer that cannot be used: answer_invalid",
        arguments: [
            ("a=setup:", "a=setup:actpass"), ("a=setup:", "a=setup:holdconn"), ("a=fingerprint:", ""),
            ("a=fingerprint:", "a=fingerprint:sha-1 " + Array(repeating: "AB", count: 20).joined(separator: ":")),
            ("a=fingerprint:", "a=fingerprint:md5 " + Array(repeating: "AB", count: 16).joined(separator: ":")),
            ("a=rtcp-mux", ""), ("a=ice-pwd:", "a=ice-pwd:short"), ("a=ice-ufrag:", ""),
            ("a=rtpmap:111", "a=rtpmap:111 PCMU/8000"), ("m=audio", "m=audio 0 UDP/TLS/RTP/SAVPF 111"),
        ])
    func invalid(old: String, new: String) throws {
        let given = try fallback(replacing(old, new))
        #expect(given?.reason == .answerInvalid, "\(new)")
        #expect(given?.stage == .answer)
        #expect(given?.detail.isEmpty == false)
    }

    @Test("A peer that answers active is the client: the flight beside its answer is not read")
    func active() throws {
        #expect(try fallback(replacing("a=setup:", "a=setup:active")) == nil)
    }

    @Test("A flight that is junk does not end the call at once", arguments: [[[UInt8]](), [[22]], [[0xFF, 0xFF]]])
    func junkFlight(flight: [[UInt8]]) throws {
        #expect(try fallback(flight: { _, _ in flight }) { $0 } == nil)
    }

    /// What an endpoint with another stack's handshake makes of a call, its flights on the line as ours are.
    private func fallback(
        identity: RawIdentity? = nil, _ change: (inout RawPeer.Options) -> Void
    ) throws -> TransportFallback? {
        var options = RawPeer.Options(.server)
        change(&options)
        let identity = try identity ?? RawIdentity()
        let peer = try RawPeer(options, identity: identity)
        let fingerprint = try identity.fingerprint().attribute
        return try fallback(flight: { hello, _ in hello.flatMap { peer.step($0) } }) {
            replacing("a=fingerprint:", "a=fingerprint:\(fingerprint)")($0)
        }
    }

    @Test("Another stack's handshake, with any certificate that was signalled, keeps the call waiting for its path")
    func otherStack() throws {
        #expect(try fallback { _ in } == nil)
        #expect(try fallback(identity: RawIdentity(.rsa(2_048))) { _ in } == nil)
        #expect(try fallback(identity: RawIdentity(validity: .expired)) { _ in } == nil)
    }

    @Test(
        "No SRTP profile in common, or none at all: srtp_profile_mismatch", arguments: ["SRTP_AES128_CM_SHA1_32", nil])
    func profiles(profiles: String?) throws {
        let given = try fallback { $0.profiles = profiles }
        #expect(given?.reason == .srtpProfileMismatch)
        #expect(given?.stage == .keys)
    }

    @Test("DTLS 1.0 only, or no suite in common: dtls_failed, with the alert") func versions() throws {
        for change in [{ $0.version = 0xFEFF }, { $0.ciphers = "ECDHE-ECDSA-AES128-SHA" }]
            as [(inout RawPeer.Options) -> Void]
        {
            let given = try fallback(change)
            #expect(given?.reason == .dtlsFailed)
            #expect(given?.detail.contains("alert") == true, "\(String(describing: given))")
        }
    }
}
