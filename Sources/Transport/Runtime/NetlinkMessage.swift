import ICELite

/// A dump to ask the kernel for (rtnetlink(7), RTM_GETLINK and RTM_GETADDR).
package struct NetlinkRequest: Hashable, Sendable {
    /// What is asked for.
    package enum Kind: Hashable, Sendable {
        case links
        case addresses
    }

    package var kind: Kind
    /// The number the answers carry.
    package var sequence: UInt32
}

/// What one message of the kernel's says about this machine's links, addresses and routes (netlink(7), rtnetlink(7)).
struct NetlinkMessage: Hashable, Sendable {
    /// A network interface.
    struct Link: Hashable, Sendable {
        var index: UInt32
        /// Empty when the kernel does not say.
        var name: String
        /// `IFF_…`.
        var flags: UInt32

        static let up: UInt32 = 0x1
        static let loopback: UInt32 = 0x8
        static let running: UInt32 = 0x40
        static let lowerUp: UInt32 = 0x1_0000
        static let dormant: UInt32 = 0x2_0000

        /// Packets can go out. `IFF_RUNNING` follows the carrier by up to a second, in which all works already.
        var isUsable: Bool {
            guard flags & Self.up != 0, flags & Self.lowerUp != 0 else { return false }
            return flags & Self.running != 0 || flags & Self.dormant == 0
        }
    }

    /// An address of an interface.
    struct Address: Hashable, Sendable {
        var index: UInt32
        /// A link-local one carries the interface as its zone.
        var ip: IPAddress
        /// `IFA_F_…`.
        var flags: UInt32

        /// Of IPv6 only: the same bit says "secondary" of an IPv4 address.
        static let temporary: UInt32 = 0x01
        static let failedDetection: UInt32 = 0x08
        static let deprecated: UInt32 = 0x20
        static let tentative: UInt32 = 0x40
    }

    enum Content: Hashable, Sendable {
        case link(Link)
        case linkGone(index: UInt32)
        case address(Address)
        case addressGone(Address)
        /// A default route of the main table came, changed or went.
        case defaultRoute(IPAddress.Family)
        /// The dump is complete.
        case done
        /// The kernel refused, or broke the dump off.
        case failed(errno: Int32)
        /// Something that is not of interest.
        case other
    }

    var content: Content
    /// The request this answers; 0 for news.
    var sequence: UInt32
    /// The dump met a change and may have left something out (NLM_F_DUMP_INTR).
    var isInterrupted: Bool
}

// MARK: - Parsing

extension NetlinkMessage {
    private enum Kind {
        static let error: UInt16 = 2
        static let done: UInt16 = 3
        static let newLink: UInt16 = 16
        static let deletedLink: UInt16 = 17
        static let newAddress: UInt16 = 20
        static let deletedAddress: UInt16 = 21
        static let newRoute: UInt16 = 24
        static let deletedRoute: UInt16 = 25
    }

    private static let interrupted: UInt16 = 0x10
    private static let headerSize = 16
    private static let linkSize = 16
    private static let addressSize = 8
    private static let attributeSize = 4
    private static let nameAttribute: UInt16 = 3
    private static let addressAttribute: UInt16 = 1
    private static let localAttribute: UInt16 = 2
    private static let flagsAttribute: UInt16 = 8
    private static let routeSize = 12
    private static let tableAttribute: UInt16 = 15
    /// RT_TABLE_MAIN.
    private static let mainTable: UInt32 = 254
    /// An interface's name has 15 bytes at most (IFNAMSIZ).
    private static let nameLimit = 15
    private static let familyV4: UInt8 = 2
    private static let familyV6: UInt8 = 10

    /// Reads the messages of one datagram, in order.
    ///
    /// - Returns: false when something in it is malformed; what came before has been handed on. Does not trap, whatever the
    ///   bytes.
    static func read(_ bytes: borrowing RawSpan, _ body: (NetlinkMessage) -> Void) -> Bool {
        var start = 0
        while bytes.byteCount - start >= headerSize {
            let length = Int(bytes.native(at: start, as: UInt32.self))
            guard length >= headerSize, length <= bytes.byteCount - start else { return false }
            let header = bytes.extracting(start..<(start + headerSize))
            let payload = bytes.extracting((start + headerSize)..<(start + length))
            guard let content = content(of: header.native(at: 4, as: UInt16.self), payload) else { return false }
            body(
                NetlinkMessage(
                    content: content, sequence: header.native(at: 8, as: UInt32.self),
                    isInterrupted: header.native(at: 6, as: UInt16.self) & interrupted != 0))
            start += min((length + 3) & ~3, bytes.byteCount - start)
        }
        return start == bytes.byteCount
    }

    /// Nil when malformed.
    private static func content(of kind: UInt16, _ payload: borrowing RawSpan) -> Content? {
        switch kind {
        case Kind.done: return .done
        case Kind.error:
            guard payload.byteCount >= 4 else { return nil }
            let number = payload.native(at: 0, as: Int32.self)
            // 0 acknowledges.
            return number == 0 ? .other : .failed(errno: 0 &- number)
        case Kind.newLink, Kind.deletedLink: return link(payload, isGone: kind == Kind.deletedLink)
        case Kind.newAddress, Kind.deletedAddress: return address(payload, isGone: kind == Kind.deletedAddress)
        case Kind.newRoute, Kind.deletedRoute: return route(payload)
        default: return .other
        }
    }

    private static func route(_ payload: borrowing RawSpan) -> Content? {
        guard payload.byteCount >= routeSize else { return nil }
        let family = payload.native(at: 0, as: UInt8.self)
        let prefixLength = payload.native(at: 1, as: UInt8.self)
        // The attribute holds all 32 bits.
        var table = UInt32(payload.native(at: 4, as: UInt8.self))
        let isWhole = attributes(payload.extracting(routeSize..<payload.byteCount)) { kind, value in
            if kind == tableAttribute, value.byteCount >= 4 { table = value.native(at: 0, as: UInt32.self) }
        }
        guard isWhole else { return nil }
        guard prefixLength == 0, table == mainTable, family == familyV4 || family == familyV6 else { return .other }
        return .defaultRoute(family == familyV4 ? .v4 : .v6)
    }

    private static func link(_ payload: borrowing RawSpan, isGone: Bool) -> Content? {
        guard payload.byteCount >= linkSize else { return nil }
        // A port that leaves its bridge is told as a link deleted, of the bridge's family.
        guard payload.native(at: 0, as: UInt8.self) == 0 else { return .other }
        let index = payload.native(at: 4, as: UInt32.self)
        if isGone { return .linkGone(index: index) }
        var link = Link(index: index, name: "", flags: payload.native(at: 8, as: UInt32.self))
        let isWhole = attributes(payload.extracting(linkSize..<payload.byteCount)) { kind, value in
            guard kind == nameAttribute else { return }
            var name: [UInt8] = []
            for offset in 0..<min(value.byteCount, nameLimit) {
                let byte = value.native(at: offset, as: UInt8.self)
                if byte == 0 { break }
                name.append(byte)
            }
            link.name = String(decoding: name, as: UTF8.self)
        }
        return isWhole ? .link(link) : nil
    }

    private static func address(_ payload: borrowing RawSpan, isGone: Bool) -> Content? {
        guard payload.byteCount >= addressSize else { return nil }
        let family = payload.native(at: 0, as: UInt8.self)
        guard family == familyV4 || family == familyV6 else { return .other }
        let index = payload.native(at: 4, as: UInt32.self)
        var flags = UInt32(payload.native(at: 2, as: UInt8.self))
        var own: IPAddress?
        var other: IPAddress?
        let isWhole = attributes(payload.extracting(addressSize..<payload.byteCount)) { kind, value in
            switch kind {
            // On a point-to-point link the plain address is the peer's, and the local one ours.
            case localAttribute: own = ip(value, isV6: family == familyV6, zone: index)
            case addressAttribute: other = ip(value, isV6: family == familyV6, zone: index)
            // All 32 bits, where the header has room for 8.
            case flagsAttribute: if value.byteCount >= 4 { flags = value.native(at: 0, as: UInt32.self) }
            default: break
            }
        }
        guard isWhole, let ip = own ?? other else { return nil }
        let address = Address(index: index, ip: ip, flags: flags)
        return isGone ? .addressGone(address) : .address(address)
    }

    private static func ip(_ value: borrowing RawSpan, isV6: Bool, zone: UInt32) -> IPAddress? {
        guard value.byteCount == (isV6 ? 16 : 4) else { return nil }
        guard isV6 else { return IPAddress(v4: UInt32(bigEndian: value.native(at: 0, as: UInt32.self))) }
        return IPAddress(
            v6High: UInt64(bigEndian: value.native(at: 0, as: UInt64.self)),
            low: UInt64(bigEndian: value.native(at: 8, as: UInt64.self)), zone: zone)
    }

    /// False when an attribute does not fit.
    private static func attributes(_ bytes: borrowing RawSpan, _ body: (UInt16, borrowing RawSpan) -> Void) -> Bool {
        var start = 0
        while bytes.byteCount - start >= attributeSize {
            let length = Int(bytes.native(at: start, as: UInt16.self))
            guard length >= attributeSize, length <= bytes.byteCount - start else { return false }
            body(
                // The two highest bits are flags of the attribute's (NLA_F_NESTED, NLA_F_NET_BYTEORDER).
                bytes.native(at: start + 2, as: UInt16.self) & 0x3FFF,
                bytes.extracting((start + attributeSize)..<(start + length)))
            start += min((length + 3) & ~3, bytes.byteCount - start)
        }
        return start == bytes.byteCount
    }
}

extension RawSpan {
    /// The number in the machine's own byte order at `offset`; the caller has checked that it fits.
    fileprivate func native<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type) -> T {
        unsafeLoadUnaligned(fromByteOffset: offset, as: T.self)
    }
}
