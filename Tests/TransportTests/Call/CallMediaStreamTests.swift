import ICELite
import Testing
import TransportMedia
import TransportRuntime
import TransportTestKit

@testable import Transport

/// One stream on two carriages: its header extensions, its numbers, its reports and its end.
@Suite("A call's stream") struct CallMediaStreamTests {
    private struct EmptyPool: Error {}
    private let pool = PacketPool(size: 2)

    private func media(_ seed: UInt64) throws -> CallMedia {
        var randomness = Randomness.seeded(seed)
        let ssrc = SSRC.random(using: &randomness)
        var media = CallMedia(
            sender: try AudioSender(ssrc: ssrc, payloadType: .defaultOpus, randomness: &randomness),
            receiver: try AudioReceiver(payloadType: .defaultOpus), capture: PCMRing(minimumCapacity: 4_800),
            playout: PCMRing(minimumCapacity: 4_800))
        media.startSending(now: .zero)
        return media
    }

    private func packet(of media: inout CallMedia, _ tick: Int64) throws -> [UInt8] {
        guard var packet = pool.take() else { throw EmptyPool() }
        let now = Instant.zero + tick * CallMedia.packetInterval
        let isThere = media.nextPacket(into: &packet, live: false, discard: true, now: now)
        #expect(isThere)
        return packet.copiedBytes
    }

    private func receive(_ bytes: [UInt8], _ media: inout CallMedia, on carriage: AudioCarriage) -> Bool {
        guard let header = media.audioHeader(of: bytes.span.bytes) else { return false }
        return media.receive(bytes.span.bytes, header: header, on: carriage, now: .zero)
    }

    private func written(_ body: (inout OutputRawSpan) -> Bool) -> [UInt8] {
        guard var packet = pool.take() else { return [] }
        let isWritten = packet.write { out in body(&out) }
        return isWritten ? packet.copiedBytes : []
    }

    @Test("Extensions that were negotiated are written and read; the mid until the peer reports on the stream")
    func extensions() throws {
        var alice = try media(1)
        var bob = try media(2)
        let plain = try packet(of: &alice, 0)
        #expect(plain[0] == 0x80)
        let extensions = RTPHeaderExtensions(midID: 4, mid: "0", audioLevelID: 1)
        alice.setHeaderExtensions(extensions)
        bob.setHeaderExtensions(extensions)
        let first = try packet(of: &alice, 1)
        #expect(first[0] == 0x90 && Array(first[12..<20]) == [0xBE, 0xDE, 0, 1, 0x40, 0x30, 0x10, 0x7F])
        let isHeard = receive(first, &bob, on: .path)
        let level = bob.remoteAudioLevel
        #expect(isHeard && level == .silence)
        var reporters = (
            RTCPReporter(localSSRC: SSRC(1), cname: "a", randomness: .seeded(1)),
            RTCPReporter(localSSRC: SSRC(2), cname: "b", randomness: .seeded(2))
        )
        reporters.0 = RTCPReporter(
            localSSRC: try RTPHeader(parsing: first.span.bytes).ssrc, cname: "a", randomness: .seeded(1))
        reporters.1.start(now: .zero)
        let report = written { out in bob.writeReport(&reporters.1, into: &out, now: .zero + .seconds(1)) }
        #expect(!report.isEmpty)
        alice.receiveReport(report.span.bytes, &reporters.0, now: .zero + .seconds(1))
        let second = try packet(of: &alice, 2)
        #expect(Array(second[12..<20]) == [0xBE, 0xDE, 0, 1, 0x10, 0x7F, 0, 0])
        let counters = alice.outbound
        #expect(counters.headerBytesSent == 12 + 20 + 20)
        #expect(counters.bytesSent == Int64(plain.count + first.count + second.count - 52))
    }

    @Test("Audio of another media section is none of this call's, and counted") func otherSection() throws {
        var alice = try media(1)
        var bob = try media(2)
        alice.setHeaderExtensions(RTPHeaderExtensions(midID: 4, mid: "1", audioLevelID: nil))
        bob.setHeaderExtensions(RTPHeaderExtensions(midID: 4, mid: "0", audioLevelID: nil))
        let bytes = try packet(of: &alice, 0)
        let isHeard = receive(bytes, &bob, on: .path)
        let foreign = bob.foreignSections
        #expect(!isHeard && foreign == 1)
    }

    @Test("The numbers of both carriages are one count, with the wraps") func numbers() throws {
        var alice = try media(1)
        var bob = try media(2)
        let none = bob.heardIndex
        #expect(none == nil)
        var bytes = try packet(of: &alice, 0)
        let sent = alice.sentIndex
        #expect(UInt16(truncatingIfNeeded: sent) == UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
        let ssrc = try RTPHeader(parsing: bytes.span.bytes).ssrc
        for (turn, index) in stride(from: UInt64(30_000), through: 400_000, by: 20_000).enumerated() {
            bytes[2] = UInt8(truncatingIfNeeded: index >> 8)
            bytes[3] = UInt8(truncatingIfNeeded: index)
            let isHeard = receive(bytes, &bob, on: turn.isMultiple(of: 2) ? .line : .path)
            let heard = bob.heardIndex
            #expect(isHeard && heard?.ssrc == ssrc && heard?.index == index)
        }
        // Another stream begins its own count.
        bytes[8] ^= 1
        _ = receive(bytes, &bob, on: .path)
        let other = bob.heardIndex
        #expect(other?.ssrc != ssrc && other?.index == 390_000 & 0xFFFF)
    }

    @Test("A path that is used again after any length of time on the line goes on where the numbers are")
    func backFromLine() throws {
        let pair = try PathPair()
        pair.run(until: .zero + .seconds(1))
        for (turn, index) in [UInt64(5), 40_000, 72_768, 400_000, 465_536, 1 << 32].enumerated() {
            pair.server.advanceReceiver(of: SSRC(PathPair.clientSSRC), to: index - 1)
            for number in index..<(index + 3) { pair.speakOnce(UInt16(truncatingIfNeeded: number), index: number) }
            pair.run(until: .zero + .seconds(2 + Int64(turn)))
            #expect(
                pair.serverHeard.suffix(3) == (0..<3).map { UInt16(truncatingIfNeeded: index + $0) }, "index \(index)")
        }
        #expect(pair.serverHeard.count == 18)
    }

    @Test(
        "A stream that no description announces is learned on the path, by its payload type", arguments: [false, true])
    func unannounced(byServer: Bool) throws {
        let pair = try PathPair(announcesSSRC: false)
        pair.run(until: .zero + .seconds(1))
        for (number, type) in [(UInt16(1), UInt8(96)), (2, 111), (3, 111)] {
            pair.speakOnce(number, payloadType: type, byServer: byServer)
        }
        pair.run(until: .zero + .seconds(2))
        #expect((byServer ? pair.heard : pair.serverHeard) == [2, 3])
    }

    @Test("The end of a call is told on the path, too: a goodbye, which ends nothing", arguments: [false, true])
    func goodbye(fromServer: Bool) throws {
        let run = try VirtualCall(seed: 11)
        _ = run.simulator.run(until: .zero + .seconds(3))
        #expect(run.client.call.state == .active && run.client.call.transport == .webrtc)
        let early = (run.client.call.carriages.media.remoteGoodbye, run.server.call.carriages.media.remoteGoodbye)
        #expect(early == (false, false))
        run.network.cutLine(try #require(run.client.line), with: .silent)
        let host = try #require(fromServer ? run.server.hostID : run.client.hostID)
        run.network.perform(on: host, at: .zero + .seconds(4)) { now in
            if fromServer {
                run.server.call.goAway(now: now)
            } else {
                run.client.call.hangUp(now: now)
            }
        }
        _ = run.simulator.run(until: .zero + .milliseconds(4_090))
        let told =
            fromServer
            ? run.client.call.carriages.media.remoteGoodbye : run.server.call.carriages.media.remoteGoodbye
        #expect(told)
    }
}
