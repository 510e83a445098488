import ICELite
import Testing

@testable import TransportMedia

/// A session of ours and an OpenSSL object as others use it. What either writes, the other gets at once.
final class MixedPair {
    var ours: DTLSSession
    let raw: RawPeer
    var now = Instant.zero
    var events: [DTLSEvent] = []
    /// What ours has sent.
    var sent: [[UInt8]] = []
    /// What the other has sent, one record a datagram.
    var received: [[UInt8]] = []

    init(
        _ role: DTLSRole, mtu: Int = 1_200, profiles: [SRTPProfile] = [.aeadAES128GCM, .aes128CMHMACSHA1_80],
        identity: RawIdentity? = nil, described: [CertificateFingerprint]? = nil,
        _ change: (inout RawPeer.Options) -> Void = { _ in }
    ) throws {
        let certificate = try #require(DTLSPair.identities.0)
        ours = try DTLSSession(role: role, certificate: certificate, profiles: profiles, maximumDatagram: mtu)
        var options = RawPeer.Options(role == .client ? .server : .client)
        change(&options)
        let identity = try identity ?? RawIdentity.p256.get()
        raw = try RawPeer(options, identity: identity)
        ours.setRemoteFingerprints(try described ?? [identity.fingerprint()])
    }

    var facts: DTLSStatistics { ours.statistics }
    var deadline: Instant { ours.nextDeadline }
    var keys: [SRTPKeys] { events.compactMap(\.keys) }
    var failures: [DTLSFailure] { events.compactMap(\.failure) }
    var isCompleted: Bool { events.contains { $0.isCompleted } && raw.isEstablished }
    /// Both ends have the same keys.
    var agree: Bool {
        guard let keys = keys.first else { return false }
        let material = raw.export(count: 2 * (keys.profile.keyLength + keys.profile.saltLength)).bytes
        let theirs = try? SRTPKeys(
            profile: keys.profile, exported: material.span.bytes, role: ours.role == .client ? .server : .client)
        return theirs?.localBytes == keys.remoteBytes && theirs?.remoteBytes == keys.localBytes
    }

    /// Hands datagrams to ours, in order.
    @discardableResult func give(_ datagrams: [[UInt8]], by carriage: DTLSCarriage = .udp) -> [DTLSVerdict] {
        var verdicts: [DTLSVerdict] = []
        for datagram in datagrams {
            received.append(datagram)
            verdicts.append(ours.handle(datagram.span.bytes, carriage: carriage, now: now))
            drainEvents()
        }
        return verdicts
    }

    func drainEvents() { while let event = ours.pollEvent() { events.append(event) } }

    /// Lets the time pass until ours wants to be called.
    func expire() {
        now = max(now, deadline == .never ? now : deadline)
        ours.handleTimeout(now: now)
        drainEvents()
    }

    /// What ours wants to send now.
    func taken() -> [[UInt8]] {
        var datagrams: [[UInt8]] = []
        while let next = ours.nextDatagram(now: now) { datagrams.append(next) }
        sent += datagrams
        return datagrams
    }

    func start() {
        ours.start(now: now)
        drainEvents()
    }

    /// Both start and exchange until neither has anything to say.
    func run() {
        start()
        var toOurs = raw.step()
        while true {
            give(toOurs)
            let toRaw = taken()
            toOurs = toRaw.flatMap { raw.take($0) }
            if toRaw.isEmpty, toOurs.isEmpty { return }
        }
    }
}
