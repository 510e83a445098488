import ICELite
import Testing

@testable import TransportRuntime

@Suite("Routing messages of the kernel") struct NetlinkMessageTests {
    private func read(_ bytes: [UInt8]) -> (isWhole: Bool, messages: [NetlinkMessage]) {
        var messages: [NetlinkMessage] = []
        let isWhole = NetlinkMessage.read(bytes.span.bytes) { messages.append($0) }
        return (isWhole, messages)
    }

    @Test("A recorded dump of links names each, its flags and the end")
    func links() throws {
        let found = try NetlinkVectors.part("links, sequence 1").map(read)
        #expect(found.allSatisfy { $0.isWhole })
        let messages = found.flatMap(\.messages)
        #expect(messages.allSatisfy { $0.sequence == 1 && !$0.isInterrupted })
        let names = messages.compactMap { message -> String? in
            guard case .link(let link) = message.content else { return nil }
            #expect(link.flags & NetlinkMessage.Link.up != 0)
            return "\(link.index) \(link.name)"
        }
        #expect(names == ["1 lo", "2 vb", "3 va"])
        #expect(messages.last?.content == .done)
    }

    @Test("A recorded dump of addresses gives each with its 32 bits of flags, link-local ones with their zone")
    func addresses() throws {
        let messages = try NetlinkVectors.part("addresses, sequence 2").flatMap { read($0).messages }
        let found = messages.compactMap { message -> NetlinkMessage.Address? in
            guard case .address(let address) = message.content else { return nil }
            return address
        }
        let texts = found.map { "\($0.index) \($0.ip)" }
        #expect(texts.prefix(2) == ["1 127.0.0.1", "3 192.0.2.2"])
        #expect(texts.contains("3 2001:db8::2"))
        let local = try #require(found.first { $0.index == 3 && $0.ip.isLinkLocal })
        #expect(local.ip.zone == 3)
        let old = try #require(found.first { $0.ip == IPAddress("fd00::2") })
        #expect(old.flags & NetlinkMessage.Address.deprecated != 0)
    }

    @Test("The flags are those of the attribute with 32 bits, where there is one")
    func flags() throws {
        var bytes = try #require(try NetlinkVectors.part("192.0.2.3 added to va").first)
        let before = read(bytes).messages
        // The header's 8 bits.
        bytes[18] = 0
        #expect(read(bytes).messages == before)
    }

    @Test("What went is told as gone: an address, and a link")
    func gone() throws {
        let contents = try NetlinkVectors.part("va deleted").flatMap { read($0).messages }.map(\.content)
        #expect(contents.contains(.linkGone(index: NetlinkVectors.va)))
        let ips = contents.compactMap { content -> String? in
            if case .addressGone(let address) = content { return "\(address.ip)" }
            return nil
        }
        #expect(ips.contains("192.0.2.2") && ips.contains("192.0.2.3"))
    }

    @Test("A port that leaves its bridge is not a link that went")
    func bridgePort() throws {
        var bytes = try #require(try NetlinkVectors.part("va deleted").first { $0[4] == 17 })
        #expect(read(bytes).messages.first?.content == .linkGone(index: NetlinkVectors.va))
        bytes[16] = 7
        #expect(read(bytes).messages.first?.content == .other)
    }

    @Test("A default route of the main table is told by its family, any other route is of no interest")
    func routes() {
        for (family, expected) in [(UInt8(2), IPAddress.Family.v4), (10, .v6)] {
            for kind in [UInt8(24), 25] {
                #expect(
                    read(NetlinkVectors.route(kind: kind, family: family)).messages.map(\.content)
                        == [.defaultRoute(expected)])
            }
        }
        for other in [
            NetlinkVectors.route(prefixLength: 24), NetlinkVectors.route(table: 255), NetlinkVectors.route(family: 7),
            // The attribute's 32 bits go first: this is another table.
            NetlinkVectors.route(attribute: octets(8, 0, 15, 0, 0xFE, 1, 0, 0)),
        ] {
            let found = read(other)
            #expect(found.isWhole && found.messages.map(\.content) == [.other])
        }
        let inAttribute = NetlinkVectors.route(table: 0, attribute: octets(8, 0, 15, 0, 0xFE, 0, 0, 0))
        #expect(read(inAttribute).messages.map(\.content) == [.defaultRoute(.v4)])
        for length in 1..<inAttribute.count { #expect(!read(Array(inAttribute[..<length])).isWhole) }
        // Cut with a length that says so: no header, or half an attribute.
        for length in 16..<inAttribute.count where length != 28 {
            var bytes = Array(inAttribute[..<length])
            bytes[0] = UInt8(length)
            #expect(!read(bytes).isWhole, "\(length)")
        }
    }

    @Test("An error carries its number, and 0 is none")
    func errors() {
        let header = octets(20, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0)
        #expect(read(header + [0xFF, 0xFF, 0xFF, 0xFF]).messages.map(\.content) == [.failed(errno: 1)])
        #expect(read(header + [0, 0, 0, 0]).messages.map(\.content) == [.other])
        #expect(read(header + [0, 0, 0, 0x80]).messages.map(\.content) == [.failed(errno: .min)])
    }

    @Test("Cut anywhere but between two messages it is malformed, and what is whole before the cut is read")
    func truncated() throws {
        for bytes in try NetlinkVectors.parts().values.joined() {
            let whole = read(bytes)
            #expect(whole.isWhole)
            for length in 0..<bytes.count {
                let cut = read(Array(bytes[..<length]))
                #expect(cut.messages == Array(whole.messages.prefix(cut.messages.count)))
                if cut.isWhole { #expect(cut.messages.count < whole.messages.count || length == 0) }
            }
        }
    }

    @Test("Mutated bytes never trap, and never give more messages than headers fit", arguments: 1...20)
    func mutated(seed: Int) throws {
        var randomness = Randomness.seeded(UInt64(seed))
        for bytes in try NetlinkVectors.parts().sorted(by: { $0.key < $1.key }).flatMap(\.value) {
            for _ in 0..<20 {
                var mutant = bytes
                for _ in 0..<Int.random(in: 1...8, using: &randomness) {
                    // Headers and lengths stand in front: they are hit more often there.
                    let span = Bool.random(using: &randomness) ? min(64, mutant.count) : mutant.count
                    mutant[Int.random(in: 0..<span, using: &randomness)] = UInt8.random(in: 0...255, using: &randomness)
                }
                #expect(read(mutant).messages.count <= mutant.count / 16)
            }
        }
    }
}
