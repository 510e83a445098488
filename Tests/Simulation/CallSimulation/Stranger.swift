internal import ICELite
internal import TransportTestKit

/// Somebody who sees a call's datagrams, has none of its keys, and writes datagrams of his own; and a peer that says strange
/// things on the line.
final class Stranger {
    private unowned let call: SimulatedCall
    private static let address = SocketAddress(ip: IPAddress(v4: 0xCB00_7163), port: 6_666)

    /// Messages that change nothing at either end.
    private static let messages = [
        #"{"type":"transport.nothing"}"#, #"{"type":"transport.mark","id":"x","at":1}"#,
        #"{"type":"transport.ack","received":7}"#, #"{"type":"transport.unheard_of","x":[[[[{}]]]]}"#,
        #"{"type":"transport.dtls","datagrams":["FgMB"],"ufrag":"nobody"}"#,
        #"{"type":"transport.candidate","candidate":"candidate:1 1 udp 1 x.local 9 typ host","ufrag":"nobody"}"#,
    ]

    init(_ call: SimulatedCall) { self.call = call }

    func act(_ verb: FaultVerb, on host: SimulatedHost, _ draws: inout Randomness) {
        guard let peer = host.peer else { return }
        switch verb {
        case .forgeMessage: peer.say(Self.messages[Int(draws.next() % UInt64(Self.messages.count))])
        case .forgeCheck:
            guard let check = call.client.lastCheck, let forged = Self.withoutIntegrity(check.bytes) else { return }
            inject(forged, from: Self.address, to: check.path.remote, at: call.server)
        case .forgeOldCheck:
            guard let check = call.client.lastCheck, let known = call.server.lastArrivalPath else { return }
            // Authentic, and from where the client is known to be: to the judge it is a check like another.
            call.network.inject(check.bytes, from: known.remote, to: known.local)
        case .forgeMedia:
            guard let media = peer.lastMedia, media.bytes.count > 12 else { return }
            var forged = media.bytes
            for index in 12..<forged.count { forged[index] = UInt8(truncatingIfNeeded: draws.next()) }
            send(forged, to: host, from: Self.address)
        case .replayHandshake:
            guard let flight = peer.lastFlight else { return }
            send(flight.bytes, to: host, from: nil)
        case .replayMedia:
            guard let media = peer.lastMedia else { return }
            send(media.bytes, to: host, from: draws.next() % 2 == 0 ? nil : Self.address)
        case .forgeJunk:
            let junk = (0..<(1 + draws.next() % 200)).map { _ in UInt8(truncatingIfNeeded: draws.next()) }
            send(junk, to: host, from: draws.next() % 2 == 0 ? nil : Self.address)
        default: break
        }
    }

    /// To `host`, as if from its peer where `source` is nil.
    private func send(_ bytes: [UInt8], to host: SimulatedHost, from source: SocketAddress?) {
        guard let path = call.server.lastArrivalPath else { return }
        if host.end == .server {
            inject(bytes, from: source ?? path.remote, to: path.local, at: host)
        } else {
            // A NAT lets in whom the inside wrote to.
            inject(bytes, from: path.local, to: path.remote, at: host)
        }
    }

    private func inject(_ bytes: [UInt8], from source: SocketAddress, to target: SocketAddress, at host: SimulatedHost)
    {
        host.forged.append(bytes)
        call.network.inject(bytes, from: source, to: target)
    }

    /// A check with another MESSAGE-INTEGRITY, and the FINGERPRINT that belongs to it. RFC 8489 §14.5, §14.7.
    private static func withoutIntegrity(_ check: [UInt8]) -> [UInt8]? {
        var check = check
        var offset = 20
        while offset + 4 <= check.count {
            let type = Int(check[offset]) << 8 | Int(check[offset + 1])
            let length = Int(check[offset + 2]) << 8 | Int(check[offset + 3])
            guard offset + 4 + length <= check.count else { return nil }
            if type == 0x0008, length == 20 { check[offset + 4] ^= 0xFF }
            if type == 0x8028, length == 4 {
                let crc = crc32(check[..<offset]) ^ 0x5354_554E
                for index in 0..<4 {
                    check[offset + 4 + index] = UInt8(truncatingIfNeeded: crc >> UInt32(24 - 8 * index))
                }
                return check
            }
            offset += 4 + (length + 3) & ~3
        }
        return nil
    }

    private static func crc32(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
