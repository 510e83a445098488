/// Why bytes are no HTTP/1.1 head that we take. Answered with 400.
package enum HTTPError: Error, Hashable, Sendable, CustomStringConvertible {
    /// More than `LineLimits.maximumHeadBytes` without an end, or more than `LineLimits.maximumHeaderFields` fields.
    case tooLarge
    /// The first line is none of a request or response of HTTP/1.x.
    case startLine
    /// A field that could be read in two ways: no token before the colon, white space around it, folded, control characters.
    case field
    /// A field that must come once came again, or did not come.
    case repeated(String)

    package var description: String {
        switch self {
        case .tooLarge: "head too large"
        case .startLine: "malformed start line"
        case .field: "malformed header field"
        case .repeated(let name): "header field \(name) is missing or repeated"
        }
    }
}

/// An HTTP/1.1 start line and its header fields (RFC 9112), parsed strictly: whatever two parsers could read differently
/// is refused.
package struct HTTPHead: Hashable, Sendable {
    /// The first line, without its end.
    package var startLine: String
    /// Fields in order: names in lower case, values without outer white space.
    package var fields: [Field]

    /// One header field.
    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: String
    }

    /// The head at the beginning of `queue` and its bytes there, empty line included; nil when it is not whole yet.
    ///
    /// - Parameter searched: bytes of `queue` in which an earlier call has found no end, 0 before the first: only what is
    ///   behind them is looked at, so that a head that comes byte by byte costs no more than one that comes whole. Updated.
    package static func parse(
        _ queue: borrowing ByteQueue, searched: inout Int
    ) throws(HTTPError) -> (head: HTTPHead, byteCount: Int)? {
        guard let byteCount = try end(of: queue, searched: &searched) else { return nil }
        var lines: [[UInt8]] = []
        var line: [UInt8] = []
        var index = 0
        while index < byteCount - 2 {
            let byte = queue[index]
            if byte == 0x0D, queue[index + 1] == 0x0A {
                lines.append(line)
                line.removeAll(keepingCapacity: true)
                index += 2
                continue
            }
            // A bare CR or LF, NUL, other control characters but tab; nothing beyond ASCII has business here but in values.
            guard byte >= 0x20 || byte == 0x09, byte != 0x7F else { throw lines.isEmpty ? .startLine : .field }
            line.append(byte)
            index += 1
        }
        guard let first = lines.first, first.allSatisfy({ (0x20...0x7E).contains($0) }) else { throw .startLine }
        guard lines.count - 1 <= LineLimits.maximumHeaderFields else { throw .tooLarge }
        var fields: [Field] = []
        fields.reserveCapacity(lines.count - 1)
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0, line[..<colon].allSatisfy(isToken)
            else {
                throw .field
            }
            var value = line[(colon + 1)...]
            while let byte = value.first, byte == 0x20 || byte == 0x09 { value.removeFirst() }
            while let byte = value.last, byte == 0x20 || byte == 0x09 { value.removeLast() }
            fields.append(
                Field(
                    name: String(decoding: line[..<colon], as: UTF8.self).lowercased(),
                    value: String(decoding: value, as: UTF8.self)))
        }
        return (HTTPHead(startLine: String(decoding: first, as: UTF8.self), fields: fields), byteCount)
    }

    /// The values of every field called `name` (lower case).
    package func values(_ name: String) -> [String] { fields.lazy.filter { $0.name == name }.map(\.value) }

    /// The value of the one field called `name`; nil when there is none.
    package func single(_ name: String) throws(HTTPError) -> String? {
        let values = values(name)
        guard values.count <= 1 else { throw .repeated(name) }
        return values.first
    }

    /// The members of the list that the fields called `name` make together (RFC 9110 §5.6.1), empty ones left out.
    package func list(_ name: String) -> [String] {
        values(name).flatMap { value in
            value.split(separator: ",").map { $0.trimmed }.filter { !$0.isEmpty }
        }
    }

    /// Whether the list `name` has `token`, in any case.
    package func contains(_ token: String, in name: String) -> Bool {
        list(name).contains { $0.lowercased() == token }
    }

    /// Whether `byte` may be part of a token (RFC 9110 §5.6.2).
    package static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    /// Whether `text` may be a field's value as we write it: visible ASCII and inner spaces.
    package static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.first != 0x20 && text.utf8.last != 0x20
    }

    private static func end(of queue: borrowing ByteQueue, searched: inout Int) throws(HTTPError) -> Int? {
        let limit = min(queue.count, LineLimits.maximumHeadBytes)
        var found: Int?
        queue.bytes.withUnsafeBytes { bytes in
            var index = max(3, searched)
            while index < limit {
                if bytes[index] == 0x0A, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A, bytes[index - 3] == 0x0D {
                    found = index + 1
                    return
                }
                index += 1
            }
        }
        searched = limit
        if found == nil, queue.count >= LineLimits.maximumHeadBytes { throw .tooLarge }
        return found
    }
}

extension Substring {
    /// Without outer spaces and tabs.
    fileprivate var trimmed: String {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}
