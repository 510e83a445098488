internal import FoundationEssentials

/// The messages of the call line whose type begins with `transport.`, as far as this version speaks them.
package enum ControlMessage: Hashable, Sendable {
    case hello(Hello)
    case welcome(Welcome)
    case candidate(TrickleCandidate)
    case select(Select)
    case selected(Selected)
    case fallback(FallbackRequest)
    case bye(Bye)
    case error(LineError)

    /// What a text frame is.
    package enum Decoded: Hashable, Sendable {
        case transport(ControlMessage)
        /// A type of this layer that this version does not know: ignored.
        case unknown(type: String)
        /// The application's: its bytes pass as they are.
        case application(type: String)
    }

    /// What is wrong with a text frame, as a sentence.
    package struct DecodeError: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    private struct TypeOnly: Decodable {
        let type: String
    }

    /// A message and its type in one object.
    private struct Typed<Message: Encodable>: Encodable {
        let type: String
        let message: Message

        private enum CodingKeys: String, CodingKey { case type }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(type, forKey: .type)
            try message.encode(to: encoder)
        }
    }

    /// The message's type on the wire.
    package var type: String {
        switch self {
        case .hello: "transport.hello"
        case .welcome: "transport.welcome"
        case .candidate: "transport.candidate"
        case .select: "transport.select"
        case .selected: "transport.selected"
        case .fallback: "transport.fallback"
        case .bye: "transport.bye"
        case .error: "transport.error"
        }
    }

    /// The message as one JSON object, keys in alphabetical order.
    package func encoded() -> [UInt8] {
        switch self {
        case .hello(let message): encode(message)
        case .welcome(let message): encode(message)
        case .candidate(let message): encode(message)
        case .select(let message): encode(message)
        case .selected(let message): encode(message)
        case .fallback(let message): encode(message)
        case .bye(let message): encode(message)
        case .error(let message): encode(message)
        }
    }

    /// Reads a text frame.
    ///
    /// - Throws: `DecodeError` when it is no JSON object with a string `type`, or a known message has a wrong shape. What an
    ///   application's message holds beside its type is not looked at.
    package static func decode(_ bytes: [UInt8]) throws(DecodeError) -> Decoded {
        let type = try read(TypeOnly.self, bytes, "a message").type
        switch type {
        case "transport.hello": return .transport(.hello(try read(Hello.self, bytes, type)))
        case "transport.welcome": return .transport(.welcome(try read(Welcome.self, bytes, type)))
        case "transport.candidate": return .transport(.candidate(try read(TrickleCandidate.self, bytes, type)))
        case "transport.select": return .transport(.select(try read(Select.self, bytes, type)))
        case "transport.selected": return .transport(.selected(try read(Selected.self, bytes, type)))
        case "transport.fallback": return .transport(.fallback(try read(FallbackRequest.self, bytes, type)))
        case "transport.bye": return .transport(.bye(try read(Bye.self, bytes, type)))
        case "transport.error": return .transport(.error(try read(LineError.self, bytes, type)))
        default: return type.hasPrefix("transport.") ? .unknown(type: type) : .application(type: type)
        }
    }

    private func encode(_ message: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings, integers and booleans always encode; an empty frame would be refused by the peer as bad.
        guard let data = try? encoder.encode(Typed(type: type, message: message)) else { return [] }
        return Array(data)
    }

    private static func read<Message: Decodable>(
        _ type: Message.Type, _ bytes: [UInt8], _ what: String
    ) throws(DecodeError) -> Message {
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch let error as DecodingError {
            throw DecodeError(description: "\(what): \(sentence(error))")
        } catch {
            throw DecodeError(description: "\(what) cannot be read")
        }
    }

    /// Where the shape is wrong; never the content, which may be secret.
    private static func sentence(_ error: DecodingError) -> String {
        let path = { (keys: [any CodingKey]) in
            // A key may be the peer's own word: bounded, and nothing that breaks a log's line.
            let joined = keys.map(\.stringValue).joined(separator: ".")
            let words = String(String.UnicodeScalarView(joined.unicodeScalars.prefix(64).filter { $0.value >= 0x20 }))
            return words.isEmpty ? "the message" : words
        }
        switch error {
        case .keyNotFound(let key, let context): return "\(path(context.codingPath + [key])) is missing"
        case .typeMismatch(_, let context): return "\(path(context.codingPath)) has a wrong type"
        case .valueNotFound(_, let context): return "\(path(context.codingPath)) is null"
        case .dataCorrupted(let context):
            return context.codingPath.isEmpty
                ? "it is no JSON object, or a number in it does not fit"
                : "\(path(context.codingPath)) has a wrong value"
        @unknown default: return "it cannot be read"
        }
    }
}
