import ICELite
import Testing
import Transport

@Suite("Line: WebSocket writer") struct LineWebSocketWriterTests {
    @Test("The examples of RFC 6455 section 5.7 are written as they say")
    func examples() {
        var writer = WebSocketWriter(isClient: false, randomness: .seeded(1))
        writer.append(.text, Array("Hello".utf8).span.bytes)
        #expect(collected { writer.drain(into: &$0) } == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
        writer.append(.binary, [UInt8](repeating: 0, count: 256).span.bytes)
        #expect(collected { writer.drain(into: &$0) }.prefix(4) == [0x82, 0x7E, 0x01, 0x00])
        writer.append(.text, [UInt8](repeating: 0, count: 65_536).span.bytes)
        #expect(collected { writer.drain(into: &$0) }.prefix(10) == [0x81, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0])
    }

    @Test("A client masks each frame with a fresh key, and a server reads it back at every length")
    func masking() {
        var writer = WebSocketWriter(isClient: true, randomness: .seeded(3))
        var keys: Set<[UInt8]> = []
        for length in 0...130 {
            let payload = (0..<length).map { UInt8($0) }
            writer.append(.binary, payload.span.bytes)
            let bytes = collected { writer.drain(into: &$0) }
            #expect(bytes[1] & 0x80 != 0)
            let start = length < 126 ? 2 : 4
            keys.insert(Array(bytes[start..<(start + 4)]))
            #expect(bytes == frame(2, payload, mask: Array(bytes[start..<(start + 4)])))
            #expect(heard([bytes], isServer: true) == [.binary(payload)])
        }
        #expect(keys.count == 131)
    }

    @Test("Control goes ahead of audio, behind the frame that was begun")
    func controlFirst() {
        var writer = WebSocketWriter(isClient: false, randomness: .seeded(1))
        for number: UInt8 in 1...2 { writer.appendAudio([number, number].span.bytes) }
        var bytes: [UInt8] = []
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 3, alignment: 8)
        defer { room.deallocate() }
        var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        #expect(writer.drain(into: &out) == 3)
        let count = unsafe out.finalize(for: room)
        bytes += Array(room[..<count])
        writer.append(.text, Array("now".utf8).span.bytes)
        bytes += collected(piece: 2) { writer.drain(into: &$0) }
        #expect(heard([bytes]) == [.binary([1, 1]), .text(Array("now".utf8)), .binary([2, 2])])
    }

    @Test("Five packets wait: the oldest goes for a newer one, and is counted")
    func ring() {
        var writer = WebSocketWriter(isClient: true, randomness: .seeded(1))
        for number: UInt8 in 1...8 { writer.appendAudio([UInt8](repeating: number, count: Int(number)).span.bytes) }
        #expect(writer.droppedAudio == 3)
        writer.appendAudio([UInt8](repeating: 9, count: 1_501).span.bytes)
        #expect(writer.droppedAudio == 4)
        let items = heard([collected { writer.drain(into: &$0) }], isServer: true)
        #expect(items == (4...8).map { .binary([UInt8](repeating: $0, count: Int($0))) })
        #expect(writer.queuedByteCount == 0)
        writer.appendAudio(([1] as [UInt8]).span.bytes)
        writer.discardAudio()
        #expect(collected { writer.drain(into: &$0) }.isEmpty)
    }

    @Test("A queue gives back what it took, however it is cut and grown")
    func queue() {
        var queue = ByteQueue(capacity: 64)
        var randomness = Randomness.seeded(5)
        var model: [UInt8] = []
        for _ in 0..<2_000 {
            if randomness.next() % 2 == 0 {
                let bytes = randomness.bytes(Int.random(in: 0...90, using: &randomness))
                queue.append(bytes)
                model += bytes
            } else {
                let count = Int.random(in: 0...100, using: &randomness)
                queue.consume(count)
                model.removeFirst(min(count, model.count))
            }
            #expect(queue.count == model.count)
            let same = queue.bytes.withUnsafeBytes { Array($0) } == model
            #expect(same)
        }
        #expect(queue.capacity <= 16_384)
    }
}
