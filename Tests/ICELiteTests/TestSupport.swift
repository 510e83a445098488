import Foundation
import ICELite
import Testing

/// One datagram of a vector file, with the comment above it.
struct Vector: CustomStringConvertible, Sendable {
    var title: String
    var bytes: [UInt8]
    var description: String { title }

    /// Reads `Vectors/<name>.hex`: a comment, then one datagram a line.
    static func read(_ name: String) throws -> [Vector] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/\(name).hex")
        var title = ""
        var vectors: [Vector] = []
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("#") {
                title = String(line.dropFirst(2))
            } else {
                vectors.append(Vector(title: "\(name) \(title)", bytes: try #require(unhex(line))))
            }
        }
        return vectors
    }

    static func unhex(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index..<(index + 2)], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }
}

/// What a message says, copied out: the reader itself cannot escape into an expectation.
struct ReadMessage {
    let bytes: [UInt8]
    var messageClass: STUNClass
    var method: UInt16
    var transactionID: STUNTransactionID
    var username: [UInt8]
    var realm: [UInt8]
    var nonce: [UInt8]
    var software: [UInt8]
    var priority: UInt32?
    var useCandidate: Bool
    var iceControlled: UInt64?
    var iceControlling: UInt64?
    var nomination: UInt32?
    var routabilityToken: UInt64?
    var errorCode: UInt16?
    var xorMappedAddress: SocketAddress?
    var mappedAddress: SocketAddress?
    var unknownAttributes: [UInt8]
    var unknown: STUNUnknownAttributes
    var integrity: STUNIntegrity
    var hasFingerprint: Bool
    var hasValidFingerprint: Bool

    init(_ bytes: [UInt8]) throws(STUNError) {
        let message = try STUNMessage(parsing: bytes.span.bytes)
        self.bytes = bytes
        messageClass = message.messageClass
        method = message.method
        transactionID = message.transactionID
        username = message.username.copiedBytes
        realm = message.realm.copiedBytes
        nonce = message.nonce.copiedBytes
        software = message.software.copiedBytes
        priority = message.priority
        useCandidate = message.useCandidate
        iceControlled = message.iceControlled
        iceControlling = message.iceControlling
        nomination = message.nomination
        routabilityToken = message.routabilityToken
        errorCode = message.errorCode
        xorMappedAddress = message.xorMappedAddress
        mappedAddress = message.mappedAddress
        unknownAttributes = message.unknownAttributes.copiedBytes
        unknown = message.unknown
        integrity = message.integrity
        hasFingerprint = message.hasFingerprint
        hasValidFingerprint = message.hasValidFingerprint
    }

    func verifies(with key: STUNKey) -> Bool {
        guard let message = try? STUNMessage(parsing: bytes.span.bytes) else { return false }
        return message.verifies(with: key)
    }

    func isAddressed(to local: [UInt8], from remote: [UInt8]?) -> Bool {
        guard let message = try? STUNMessage(parsing: bytes.span.bytes) else { return false }
        return message.isAddressed(to: local, from: remote)
    }
}

func fragment(of bytes: [UInt8]) -> STUNUsernameFragment? { stunUsernameFragment(of: bytes.span.bytes) }

func looksLikeSTUN(_ bytes: [UInt8]) -> Bool { STUNMessage.isSTUN(bytes.span.bytes) }

/// Runs `body` on an empty span of `capacity` bytes; the bytes written.
func written<E: Error>(_ capacity: Int = 1_500, _ body: (inout OutputRawSpan) throws(E) -> Void) throws(E) -> [UInt8] {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 8)
    defer { room.deallocate() }
    var out = OutputRawSpan(buffer: room, initializedCount: 0)
    try body(&out)
    let count = out.finalize(for: room)
    return Array(room[..<count])
}

/// A datagram that a machine wants sent.
struct Datagram {
    var path: NetworkPath
    var bytes: [UInt8]
}

/// Everything `machine` wants to send at `now`.
func drain<M: Machine>(_ machine: inout M, now: Instant) -> [Datagram] {
    var datagrams: [Datagram] = []
    while datagrams.count < 1_000 {
        var transmit: Transmit?
        let bytes = written { (out) in transmit = machine.pollTransmit(into: &out, now: now) }
        guard let transmit else { break }
        #expect(transmit.byteCount == bytes.count)
        datagrams.append(Datagram(path: transmit.path, bytes: bytes))
    }
    return datagrams
}

/// Everything `machine` has to tell.
func events<M: Machine>(_ machine: inout M) -> [M.Event] {
    var events: [M.Event] = []
    while let event = machine.pollEvent() { events.append(event) }
    return events
}

func address(_ text: String, _ port: UInt16) throws -> SocketAddress {
    SocketAddress(ip: try #require(IPAddress(text)), port: port)
}

/// A Binding request as a peer would send it.
struct Request {
    var username: String? = "LocU:RemU"
    var password = "VerySecretLocalPwd123456"
    var id: UInt64 = 1
    var priority: UInt32? = 1_845_501_695
    var useCandidate = false
    var nomination: UInt32?
    var token: UInt64?
    var controlled = false
    var integrity = STUNIntegrity.sha1

    func bytes() throws -> [UInt8] {
        try written { (out) throws(STUNError) in
            let writer = try STUNWriter(.request, transactionID: STUNTransactionID(high: id, low: 7), into: &out)
            if let username { try writer.append(.username, Array(username.utf8), into: &out) }
            if let priority { try writer.append(.priority, priority, into: &out) }
            try writer.append(controlled ? .iceControlled : .iceControlling, UInt64(5), into: &out)
            if useCandidate { try writer.append(flag: .useCandidate, into: &out) }
            if let nomination { try writer.append(.nomination, nomination, into: &out) }
            if let token { try writer.append(.routabilityToken, token, into: &out) }
            try writer.append(integrity, key: STUNKey(password: password), into: &out)
            try writer.appendFingerprint(into: &out)
        }
    }
}

func credentials(_ ufrag: String, _ password: String) throws -> ICECredentials {
    try #require(ICECredentials(ufrag: ufrag, password: password))
}

extension ICEFullAgent {
    /// `handle` for an array; a span cannot pass through an expectation.
    mutating func take(_ bytes: [UInt8], _ path: NetworkPath, at now: Instant = .zero) -> ICEVerdict {
        handle(bytes.span.bytes, path: path, now: now)
    }
}

extension ICELiteAgent {
    /// `handle` for an array; a span cannot pass through an expectation.
    mutating func take(_ bytes: [UInt8], _ path: NetworkPath, at now: Instant = .zero) -> ICEVerdict {
        handle(bytes.span.bytes, path: path, now: now)
    }
}
