internal import FoundationEssentials

extension ControlMessage {
    /// Reads one text. Of an application's only `type` is looked at; unknown keys are ignored everywhere.
    ///
    /// Duplicate keys: one of them counts, which is not said. Size is the caller's to have checked
    /// (`LineLimits.maximumTextBytes`); a longer text is refused.
    package static func decode(_ text: borrowing RawSpan) throws(ControlMessageError) -> Decoded {
        try decode(text.withUnsafeBytes { Array($0) })
    }

    /// Reads one text, as `decode(_: RawSpan)` does.
    package static func decode(_ text: [UInt8]) throws(ControlMessageError) -> Decoded {
        // The parser guesses UTF-16 and UTF-32 from NULs, which no JSON text in UTF-8 has.
        guard text.count <= LineLimits.maximumTextBytes, !text.contains(0), text.first != 0xFE, text.first != 0xFF
        else {
            throw .notAnObject
        }
        let data = Data(text)
        let type: String
        do {
            type = try JSONDecoder().decode(Envelope.self, from: data).type
        } catch DecodingError.dataCorrupted {
            throw .notAnObject
        } catch DecodingError.typeMismatch(_, let context) where context.codingPath.isEmpty {
            throw .notAnObject
        } catch DecodingError.valueNotFound(_, let context) where context.codingPath.isEmpty {
            throw .notAnObject
        } catch {
            throw .noType
        }
        guard type.hasPrefix(prefix) else { return .application(type: type) }
        do {
            guard let message = try message(type: type, data) else { return .unknownTransport(type: type) }
            return .transport(message)
        } catch let error as ControlMessageError {
            throw error
        } catch DecodingError.keyNotFound(let key, let context) {
            throw .missing(path(context.codingPath + [key]))
        } catch DecodingError.valueNotFound(_, let context) {
            throw .missing(path(context.codingPath))
        } catch DecodingError.typeMismatch(_, let context) {
            throw .invalid(path(context.codingPath))
        } catch DecodingError.dataCorrupted(let context) {
            throw context.codingPath.isEmpty ? .notAnObject : .invalid(path(context.codingPath))
        } catch {
            throw .notAnObject
        }
    }

    private struct Envelope: Decodable { var type: String }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }

    private static func message(type: String, _ data: Data) throws -> ControlMessage? {
        func read<T: Decodable>(_: T.Type) throws -> T { try JSONDecoder().decode(T.self, from: data) }
        switch type {
        case "transport.hello": return .hello(try read(Hello.self))
        case "transport.welcome": return .welcome(try read(Welcome.self))
        case "transport.candidate": return .candidate(try read(Candidate.self))
        case "transport.dtls": return .dtls(try read(DTLSFlights.self))
        case "transport.select": return .select(try read(Select.self))
        case "transport.selected": return .selected(try read(Selected.self))
        case "transport.bridge": return .bridge(try read(Bridge.self))
        case "transport.restart": return .restart(try read(Restart.self))
        case "transport.restarted": return .restarted(try read(Restart.self))
        case "transport.restart_needed": return .restartNeeded
        case "transport.fallback": return .fallback(try read(Fallback.self))
        case "transport.check": return .check
        case "transport.flush": return .flush(try read(Flush.self))
        case "transport.flushed": return .flushed(try read(Flushed.self))
        case "transport.mark": return .mark(try read(Mark.self))
        case "transport.marked": return .marked(try read(Marked.self))
        case "transport.ack": return .ack(try read(Ack.self))
        case "transport.bye": return .bye(try read(Bye.self))
        case "transport.error": return .error(try read(LineError.self))
        default: return nil
        }
    }
}

/// One object's members, read with their bounds; an error names the whole path.
struct MessageReader {
    private let container: KeyedDecodingContainer<Key>

    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(_ decoder: any Decoder) throws { container = try decoder.container(keyedBy: Key.self) }

    func value<T: Decodable>(_ name: String, _ type: T.Type = T.self) throws -> T {
        try naming(name) { try container.decode(type, forKey: Key(stringValue: name)) }
    }

    /// Nil when the key is absent or null.
    func optional<T: Decodable>(_ name: String, _ type: T.Type = T.self) throws -> T? {
        try naming(name) { try container.decodeIfPresent(type, forKey: Key(stringValue: name)) }
    }

    /// Lets errors that know their path pass. Others are numbers that do not fit, as the text was seen to be JSON when
    /// `type` was read.
    private func naming<T>(_ name: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as ControlMessageError {
            throw error
        } catch let error as DecodingError {
            if case .dataCorrupted(let context) = error, context.codingPath.isEmpty { throw invalid(name) }
            throw error
        } catch {
            throw invalid(name)
        }
    }

    func word(_ name: String, _ limit: Int = ControlMessage.maximumWordBytes) throws -> String {
        try bounded(name, value(name), limit)
    }

    func optionalWord(_ name: String, _ limit: Int = ControlMessage.maximumWordBytes) throws -> String? {
        try optional(name, String.self).map { try bounded(name, $0, limit) }
    }

    /// Text for people: cut at its bound, and empty when absent.
    func detail(_ name: String) throws -> String {
        let text = try optional(name, String.self) ?? ""
        return String(decoding: text.utf8.prefix(ControlMessage.maximumDetailBytes), as: UTF8.self)
    }

    func number(_ name: String, in range: ClosedRange<Int>) throws -> Int {
        let number = try value(name, Int.self)
        guard range.contains(number) else { throw invalid(name) }
        return number
    }

    func words(_ name: String) throws -> [String] {
        let words = try value(name, [String].self)
        guard words.count <= ControlMessage.maximumListCount,
            words.allSatisfy({ $0.utf8.count <= ControlMessage.maximumWordBytes })
        else { throw invalid(name) }
        return words
    }

    func datagrams(_ name: String, _ limit: Int) throws -> [[UInt8]] {
        let texts = try value(name, [String].self)
        guard texts.count <= limit else { throw invalid(name) }
        return try texts.map { text in
            guard text.utf8.count <= ControlMessage.maximumDatagramBytes / 3 * 4, let bytes = Base64.decode(text),
                !bytes.isEmpty
            else { throw invalid(name) }
            return bytes
        }
    }

    func has(_ name: String) -> Bool { container.contains(Key(stringValue: name)) }

    func invalid(_ name: String) -> ControlMessageError { error(name, ControlMessageError.invalid) }

    func missing(_ name: String) -> ControlMessageError { error(name, ControlMessageError.missing) }

    private func error(_ name: String, _ make: (String) -> ControlMessageError) -> ControlMessageError {
        let path = container.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }
        return make((path + [name]).joined(separator: "."))
    }

    private func bounded(_ name: String, _ text: String, _ limit: Int) throws -> String {
        guard text.utf8.count <= limit else { throw invalid(name) }
        return text
    }
}
