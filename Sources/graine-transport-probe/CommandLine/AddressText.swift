internal import ICELite

/// Questions about text that may be an IP address.
enum AddressText {
    /// Whether `text` is an IPv4 or IPv6 address, without brackets or port.
    static func isAddress(_ text: String) -> Bool { IPAddress(text) != nil }
}
