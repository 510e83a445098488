/// Why bytes are no RTP or RTCP packet, or could not be written as one.
package enum RTPError: Error, Equatable, Sendable {
    /// The bytes end before what their header promises.
    case truncated
    /// The version is not 2.
    case badVersion(UInt8)
    /// The padding count is zero or more than there is.
    case badPadding
    /// A count or length inside an RTCP packet does not fit its packet.
    case badLength
    /// The output has too little room.
    case noRoom
}

extension RTPError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .truncated: "the packet ends before its header says"
        case .badVersion(let version): "RTP version \(version) instead of 2"
        case .badPadding: "the padding count does not fit the packet"
        case .badLength: "a length inside the RTCP packet does not fit"
        case .noRoom: "no room for the packet"
        }
    }
}
