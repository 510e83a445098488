internal import ICELite

/// Questions about text that may be an IP address.
enum AddressText {
    /// Whether `text` is an IPv4 or IPv6 address that a socket may be bound to, without brackets or port.
    static func isBindable(_ text: String) -> Bool { IPAddress(text).map { !$0.isMulticast } ?? false }
}
