/// Why Opus would not encode or decode.
package enum OpusError: Error, Equatable, Sendable {
    /// The frame or the buffer has a size that Opus does not take, or does not hold the packet.
    case badFrameSize
    /// The bytes are no Opus packet (OPUS_INVALID_PACKET), or none at all.
    case invalidPacket
    /// A setting is out of range.
    case badSetting
    /// No memory for the codec's state.
    case outOfMemory
    /// The output has too little room for a packet.
    case noRoom
    /// Another of libopus' error codes.
    case codec(Int32)
}

extension OpusError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .badFrameSize: "Opus does not take this frame size"
        case .invalidPacket: "not an Opus packet"
        case .badSetting: "Opus refuses a setting"
        case .outOfMemory: "no memory for Opus"
        case .noRoom: "no room for an Opus packet"
        case .codec(let code): "Opus error \(code)"
        }
    }
}
