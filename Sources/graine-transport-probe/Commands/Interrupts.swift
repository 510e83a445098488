@preconcurrency internal import Dispatch
internal import Foundation

/// Ctrl-C and SIGTERM as a stream.
final class Interrupts: Sendable {
    let stream: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    /// Takes the two signals over for the rest of the process.
    init() {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(4))
        self.stream = stream
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield() }
            source.resume()
            return source
        }
    }
}
