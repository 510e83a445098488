import Foundation
import ICELite
import Synchronization

@testable import TransportRuntime

/// Something that only one thread at a time touches, as the test arranges it.
final class Box<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}

/// Things that happened, in order, from any thread; the test waits for the next one.
final class Happenings<Element: Sendable>: Sendable {
    private let stream: AsyncStream<Element>
    private let continuation: AsyncStream<Element>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func add(_ element: Element) { continuation.yield(element) }

    func next() async -> Element? {
        var iterator = stream.makeAsyncIterator()
        return await iterator.next()
    }

    func next(_ count: Int) async -> [Element] {
        var found: [Element] = []
        while found.count < count, let element = await next() { found.append(element) }
        return found
    }
}

extension EventLoop {
    /// Runs `body` on the loop and waits for what it returns.
    func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in submit { continuation.resume(returning: body()) } }
    }

    /// An instant `seconds` from the loop's present.
    func after(_ seconds: Double) -> Instant { now + Nanoseconds(seconds * 1_000_000_000) }
}

/// A loop for the length of `body`.
func withLoop<Value>(_ body: (EventLoop) async throws -> Value) async throws -> Value {
    let loop = try EventLoop(name: "test-loop")
    defer { loop.stop() }
    return try await body(loop)
}

/// File descriptors of this process.
func openDescriptors() -> Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1 }

/// Threads of this process with this name.
func threads(named name: String) -> Int {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.count { task in
        let comm = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
        return comm?.trimmingCharacters(in: .newlines) == name
    }
}

extension IPAddress {
    static let loopbacks: [IPAddress] = [.loopbackV4, .loopbackV6]
}

/// An array literal would be one of `Int`.
func octets(_ bytes: UInt8...) -> [UInt8] { bytes }
