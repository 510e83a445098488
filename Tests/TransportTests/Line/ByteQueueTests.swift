import ICELite
import Testing

@testable import TransportLine

@Suite struct ByteQueueTests {
    @Test func givesBackWhatWentInHoweverItIsCut() {
        var random = Randomness.seeded(1)
        var queue = ByteQueue(capacity: 64)
        var expected: [UInt8] = []
        for _ in 0..<2_000 {
            let more = random.bytes(Int.random(in: 0...200, using: &random))
            queue.append(more)
            expected += more
            let gone = Int.random(in: 0...220, using: &random)
            expected.removeFirst(min(gone, expected.count))
            queue.consume(gone)
            let (count, array) = (queue.count, queue.array)
            #expect(count == expected.count)
            #expect(array == expected)
        }
    }

    @Test func keepsItsBufferOnceItHasItsSize() {
        var queue = ByteQueue(capacity: 4_096)
        for _ in 0..<1_000 {
            queue.append([UInt8](repeating: 1, count: 1_500))
            queue.consume(1_500)
        }
        let capacity = queue.capacity
        #expect(capacity == 4_096)
    }

    @Test(arguments: 0..<20) func masksInPlaceAsByteByByte(count: Int) {
        let key: UInt32 = 0x37FA_213D
        let keyBytes: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
        let plain = (0..<count).map { UInt8($0) }
        var queue = ByteQueue()
        queue.append([9, 9, 9] + plain + [9])
        queue.mask(3..<(3 + count), key: key)
        let masked = plain.enumerated().map { $1 ^ keyBytes[$0 % 4] }
        let array = queue.array
        #expect(array == [9, 9, 9] + masked + [9])
    }

    @Test func drainsAsMuchAsFits() {
        var queue = ByteQueue()
        queue.append([1, 2, 3, 4, 5])
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 3, alignment: 1)
        defer { room.deallocate() }
        var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        let drained = [queue.drain(into: &out), queue.drain(into: &out)]
        let (count, left) = (unsafe out.finalize(for: room), queue.count)
        #expect(drained == [3, 0] && count == 3 && left == 2)
        #expect(Array(room) == [1, 2, 3])
    }
}

@Suite struct Base64Tests {
    /// RFC 4648 §10.
    static let vectors = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test(arguments: vectors) func matchesTheVectors(plain: String, text: String) {
        #expect(Base64.encode(Array(plain.utf8)) == text)
        #expect(Base64.decode(text) == Array(plain.utf8))
        let bare = String(text.prefix { $0 != "=" })
        #expect(Base64.encodeURL(Array(plain.utf8)) == bare)
        #expect(Base64.decodeURL(bare) == Array(plain.utf8))
    }

    @Test(arguments: ["Zg=", "Zg", "Zg===", "Zh==", "Zm9=", "Z", "Z===", "====", "Zm 9v", "Zm9v\n", "Zm9-", "Zm=v"])
    func refusesAnythingElse(text: String) { #expect(Base64.decode(text) == nil) }

    @Test func everyByteTravels() {
        let all = (0...255).map { UInt8($0) }
        #expect(Base64.decode(Base64.encode(all)) == all)
        #expect(Base64.decodeURL(Base64.encodeURL(all)) == all)
        #expect(Base64.decodeURL("-_-_") == Base64.decode("+/+/"))
    }
}
