/// What a datagram of a whole call is, told by its bytes as they go out: which of them a test loses.
enum CallDatagram: Hashable {
    /// A connectivity check of the client's; the endpoint is lite and sends none.
    case check
    /// The endpoint's answer to one.
    case answer
    /// A flight of the handshake, 1…4 (RFC 6347 §4.2.4 without the cookie's): 1 and 3 are the client's.
    case flight(Int)
    /// SRTP or SRTCP.
    case media(byClient: Bool)
    case other

    init(_ bytes: [UInt8], byClient: Bool) {
        switch bytes.first ?? 0 {
        case 0 where bytes[1] == 1: self = .check
        case 1 where bytes[1] == 1: self = .answer
        // A handshake record in the clear: a ClientHello begins with 1, the server's flight is the only other.
        case 22 where byClient && bytes[4] == 0: self = .flight(bytes[13] == 1 ? 1 : 3)
        case 22 where bytes[4] == 0: self = .flight(2)
        // ChangeCipherSpec, with Finished behind it.
        case 20 where !byClient: self = .flight(4)
        case 128...191: self = .media(byClient: byClient)
        default: self = .other
        }
    }

    /// Whose it is.
    var isByClient: Bool {
        switch self {
        case .check, .flight(1), .flight(3), .media(byClient: true): true
        default: false
        }
    }
}
