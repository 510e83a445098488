import ICELite
import Testing

@testable import Transport

@Suite("The numbers of a recording") struct RecordBytesTests {
    @Test("Integers, times and instants come back as they were, at every size")
    func roundTrip() throws {
        var writer = RecordWriter(epoch: .zero + .seconds(100))
        let numbers: [UInt64] = [0, 1, 127, 128, 16_383, 16_384, .max / 2, .max]
        let times: [Nanoseconds] = [0, 1, -1, 350_000_000, -350_000_000, RecordReader.longestTime]
        for number in numbers { writer.varint(number) }
        for time in times { writer.nanoseconds(time) }
        writer.instant(.never)
        writer.instant(.zero + .seconds(101))
        var reader = RecordReader(writer.bytes[...])
        for number in numbers { #expect(try reader.varint() == number) }
        for time in times { #expect(try reader.nanoseconds() == time) }
        #expect(try reader.instant() == .never)
        #expect(try reader.instant() == .zero + .seconds(1), "instants count from the beginning")
        #expect(reader.isAtEnd)
    }

    @Test("What is too large is clamped as it is written and refused as it is read")
    func bounds() throws {
        var writer = RecordWriter(epoch: .zero)
        writer.nanoseconds(.max)
        writer.count(-5)
        var reader = RecordReader(writer.bytes[...])
        #expect(try reader.nanoseconds() == RecordReader.longestTime)
        #expect(try reader.count() == 0)
        writer.clear()
        writer.varint(.max)
        var far = RecordReader(writer.bytes[...])
        #expect(throws: RecordError.malformed) { try far.nanoseconds() }
        var overlong = RecordReader([UInt8](repeating: 0xFF, count: 11)[...])
        #expect(throws: RecordError.malformed) { try overlong.varint() }
        var notBool = RecordReader([2])
        #expect(throws: RecordError.malformed) { try notBool.bool() }
        var noWord = RecordReader([200])
        #expect(throws: RecordError.malformed) { try noWord.word(OutageCause.self) }
    }

    @Test("Our own sentences are kept, every other text is its length alone")
    func texts() throws {
        var writer = RecordWriter(epoch: .zero)
        writer.text(CallMessage.pathLost)
        writer.text("203.0.113.9 says no")
        writer.text(String(repeating: "x", count: 5_000))
        var reader = RecordReader(writer.bytes[...])
        #expect(try reader.text() == CallMessage.pathLost)
        #expect(try reader.text() == String(repeating: "?", count: 19))
        #expect(try reader.text().count == RecordedText.longest)
        #expect(writer.bytes.count <= 5)
    }

    private func check<Value: Recorded & Equatable>(_ value: Value) throws {
        var writer = RecordWriter(epoch: .zero)
        value.record(into: &writer)
        var reader = RecordReader(writer.bytes[...])
        #expect(try Value(recorded: &reader) == value)
        #expect(reader.isAtEnd)
        for length in 0..<writer.bytes.count {
            var short = RecordReader(writer.bytes[..<length])
            #expect(throws: RecordError.self) { try Value(recorded: &short) }
        }
    }

    @Test("Every input and effect comes back as it was, and is refused at every length that is too short")
    func vocabulary() throws {
        let fallback = TransportFallback(
            reason: .iceNoResponse, stage: .checks, elapsed: .seconds(3), detail: CallMessage.pathLost)
        var evidence = PathEvidence()
        evidence.pairs = 3
        evidence.firstAnswerAt = .zero + .seconds(1)
        evidence.roundTrip = .milliseconds(50)
        evidence.failure = .alert(40)
        let client: [ClientPolicy.Input] = [
            .start, .helloSent, .welcomed(.answer), .welcomed(.none), .welcomed(.standard),
            .welcomed(.declined(word: "busy", detail: nil)), .welcomed(.unusable("")), .pathChanged(evidence),
            .heard(.webrtc), .acknowledged(epoch: 2, heard: true), .serverRequestedWebSocket(word: "disabled"),
            .hangUp, .fail(""), .byeReceived(isFailure: true, message: CallMessage.goingAway), .lineRefused(""),
            .lineClosed, .pathClosedByPeer, .recoveryWindowEnded, .timeout, .lineHeard(.zero + .seconds(4)),
        ]
        for input in client { try check(input) }
        let clientEffects: [ClientPolicy.Effect] = [
            .select(epoch: 1, transport: .websocket, fallback: fallback, isRepeat: true), .closePath,
            .activated(.webrtc), .transportChanged(from: .webrtc, to: .websocket, fallback),
            .ended(.failed(message: CallMessage.notActive), bye: .failure(CallMessage.notActive)),
            .ended(.ended(.remote), bye: nil), .ended(.ended(.local), bye: .client),
        ]
        for effect in clientEffects { try check(effect) }
        let server: [ServerPolicy.Input] = [
            .upgraded, .welcomed, .select(epoch: 3, transport: .websocket, fallback: fallback), .heard(.websocket),
            .hangUp, .fail(""), .goAway, .byeReceived(isFailure: false, message: nil), .reject(.badOrder("")),
            .reject(.badMessage("")), .reject(.badVersion), .reject(.noCommonCodec), .reject(.helloTimeout),
            .reject(.callExists), .reject(.unavailable), .lineClosed(isPathLost: true), .recoveryWindowEnded,
            .pathClosedByPeer, .timeout,
        ]
        for input in server { try check(input) }
        let serverEffects: [ServerPolicy.Effect] = [
            .selected(epoch: 1, heard: true), .closePath, .activated(.websocket),
            .transportChanged(from: .webrtc, to: .websocket, nil), .reject(.unavailable),
            .ended(.ended(.failed(message: CallMessage.pathLost)), bye: .goingAway),
            .ended(.ended(.local), bye: .server), .ended(.ended(.local), bye: .failure("")),
        ]
        for effect in serverEffects { try check(effect) }
        let recovery: [PathRecovery.Input] =
            [
                .heard, .answered(isSamePair: true), .restarted, .peerBridge(true), .reported(standstills: 3),
                .stalled(for: .milliseconds(1_500)), .timeout, .moved, .behind, .lineAnswered,
            ] + OutageCause.allCases.map { .suspect($0) } + OutageOutcome.allCases.map { .stop($0) }
        for input in recovery { try check(input) }
        let recoveryEffects: [PathRecovery.Effect] = [
            .began, .askBridge(true), .askBridge(false), .probe, .check, .openFreshSockets, .recoveringChanged(true),
            .recoveringChanged(false), .windowEnded, .finished, .askLine,
        ]
        for effect in recoveryEffects { try check(effect) }
    }
}
