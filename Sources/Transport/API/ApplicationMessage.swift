import TransportLine

/// What an application may send: checked before anything of it is sent, for the peer's end closes a line for less.
enum ApplicationMessage {
    /// - Throws: `invalidMessage`, with what is wrong of it.
    static func check(_ message: [UInt8]) throws(TransportError) {
        guard message.count <= LineLimits.maximumTextBytes else {
            throw .invalidMessage("a message has at most \(LineLimits.maximumTextBytes) bytes, not \(message.count)")
        }
        guard String(validating: message, as: UTF8.self) != nil else {
            throw .invalidMessage("a message is UTF-8")
        }
        let decoded: ControlMessage.Decoded
        do throws(ControlMessageError) {
            decoded = try ControlMessage.decode(message)
        } catch {
            throw .invalidMessage("a message is one JSON object with a string \"type\": \(error)")
        }
        switch decoded {
        case .application: break
        case .transport, .unknownTransport:
            throw .invalidMessage("types that begin with \(ControlMessage.prefix) are the transport's own")
        }
    }
}
