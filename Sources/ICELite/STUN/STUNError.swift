/// Why bytes are no STUN message, or why one could not be written.
public enum STUNError: Error, Equatable, Sendable {
    /// Shorter than the 20-byte header, or longer than `STUNMessage.maximumSize`.
    case badSize(Int)
    /// The first two bits are not 0, or the magic cookie is missing (RFC 8489 §5).
    case notSTUN
    /// The header's length is no multiple of 4 or does not fit the datagram exactly.
    case badLength(Int)
    /// An attribute runs past the end of the message.
    case attributeOverrun(type: UInt16)
    /// An attribute that we know has a length or content its definition does not allow.
    case malformedAttribute(type: UInt16)
    /// FINGERPRINT is not the last attribute (RFC 8489 §14.7).
    case fingerprintNotLast
    /// The output span has no room for the attribute.
    case noRoom
}
