import CLinux
import Glibc
import ICELite

extension clinux_address {
    /// The C form of an address: the shim turns it into a `sockaddr`.
    init(_ address: SocketAddress) {
        self.init(
            high: address.ip.high, low: address.ip.low, zone: address.ip.zone, port: address.port,
            family: address.ip.family.rawValue)
    }

    /// The C form of an address without a port; nil is the family 0.
    init(_ address: IPAddress?) {
        self.init()
        if let address { self = clinux_address(SocketAddress(ip: address, port: 0)) }
    }
}

extension SocketAddress {
    /// Nil for a family that is neither IPv4 nor IPv6. An IPv4-mapped IPv6 address comes out as IPv4.
    init?(_ raw: clinux_address) {
        switch raw.family {
        case 4: self.init(ip: IPAddress(v4: UInt32(truncatingIfNeeded: raw.low)), port: raw.port)
        case 6:
            let ip = IPAddress(v6High: raw.high, low: raw.low, zone: raw.zone)
            self.init(ip: ip.unmapped, port: raw.port)
        default: return nil
        }
    }

    /// From a `sockaddr` of `length` bytes; nil for another family or a length too short for it.
    init?(_ address: UnsafePointer<sockaddr>?, length: UInt32) {
        var raw = clinux_address()
        guard clinux_address_from(address, length, &raw) != 0 else { return nil }
        self.init(raw)
    }
}
