/// What a datagram is by its first bytes, as somebody sees it who has no key.
enum Datagram {
    case media(sequence: UInt16)
    case report
    case check
    case checkAnswer
    case checkError
    case handshake
    case other

    init(_ bytes: borrowing [UInt8]) {
        guard bytes.count >= 4 else {
            self = .other
            return
        }
        switch bytes[0] {
        case 128...191:
            self =
                (64...95).contains(bytes[1] & 0x7F)
                ? .report : .media(sequence: UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
        case 20...63: self = .handshake
        case 0, 1:
            switch (bytes[0], bytes[1]) {
            case (0, 1): self = .check
            case (1, 1): self = .checkAnswer
            case (1, 0x11): self = .checkError
            default: self = .other
            }
        default: self = .other
        }
    }
}
