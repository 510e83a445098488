import Foundation
import Testing

@testable import graine_transport_probe

/// The built program as people run it: signals, exit codes, what it leaves behind.
@Suite("The probe as a process", .serialized) struct ChildProcessTests {
    /// A running probe; its standard output and error go to files.
    private final class Child {
        let process = Process()
        let output: String
        let error: String

        init(_ folder: URL, _ name: String, _ arguments: [String]) throws {
            output = folder.appending(path: "\(name).out").path
            error = folder.appending(path: "\(name).err").path
            // The program lies beside the test's own.
            let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let tests = ProcessInfo.processInfo.arguments.compactMap { $0.hasSuffix(".xctest") ? $0 : nil }.first ?? own
            process.executableURL = URL(fileURLWithPath: tests).deletingLastPathComponent()
                .appending(path: HelpText.programName)
            process.arguments = arguments
            for path in [output, error] { #expect(FileManager.default.createFile(atPath: path, contents: nil)) }
            process.standardOutput = FileHandle(forWritingAtPath: output)
            process.standardError = FileHandle(forWritingAtPath: error)
            process.environment = ["HOME": folder.path, "PATH": "/usr/bin:/bin", "TMPDIR": folder.path]
            try process.run()
        }

        deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

        /// Polls until `file` has `text`; the file as it is then.
        func wait(for text: String, in file: String) async throws -> String {
            for _ in 0..<6_000 {
                let content = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
                if content.contains(text) { return content }
                guard process.isRunning else { break }
                try await Task.sleep(for: .milliseconds(20))
            }
            Issue.record("no \(text): \((try? String(contentsOfFile: error, encoding: .utf8)) ?? "")")
            return ""
        }

        /// Sends `signal` and waits for the end; the exit code, or nil when a signal ended it.
        func end(_ signal: Int32) async throws -> Int32? {
            kill(process.processIdentifier, signal)
            return try await exitCode()
        }

        func exitCode() async throws -> Int32? {
            for _ in 0..<6_000 where process.isRunning { try await Task.sleep(for: .milliseconds(20)) }
            guard !process.isRunning else { return nil }
            return process.terminationReason == .exit ? process.terminationStatus : nil
        }
    }

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "probe-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private func word(_ name: String, in ready: String) throws -> String {
        let words = ready.split(whereSeparator: \.isWhitespace)
        return String(try #require(words.first { $0.hasPrefix(name + "=") }).dropFirst(name.count + 1))
    }

    @Test("A signal hangs up in the middle of a call, the report is written, 130", arguments: [SIGINT, SIGTERM])
    func interrupted(signal: Int32) async throws {
        try await withFolder { folder in
            let server = try Child(folder, "serve", ["serve"])
            let ready = try await server.wait(for: "ca=", in: server.output)
            let json = folder.appending(path: "r.json").path
            let events = folder.appending(path: "e.jsonl").path
            let call = try Child(
                folder, "call",
                [
                    "call", try word("line", in: ready), "--ca", try word("ca", in: ready), "--duration", "600",
                    "--json",
                    json, "--ndjson", events,
                ])
            _ = try await call.wait(for: #""state":"active""#, in: events)
            let began = ContinuousClock.now
            #expect(try await call.end(signal) == 130)
            // No measurement: only not the 600 s of the call.
            #expect(ContinuousClock.now - began < .seconds(300))
            let report = try JSONDecoder().decode(
                JSONValue.self, from: Data(contentsOf: URL(fileURLWithPath: json)))
            #expect(
                report["aborted"] == .bool(true) && SchemaValidator(schema: ReportSchema.json).problems(report) == [])
            #expect(report["call"]?["transport"] == "webrtc" && report["call"]?["state"] == "ended")
            #expect(report["call"]?["outcome"]?["reason"] == "local", "the call was not hung up")
            let lines = try String(contentsOfFile: events, encoding: .utf8).split(separator: "\n")
            #expect(lines.last?.contains(#""event":"end""#) == true)
            #expect(try String(contentsOfFile: call.output, encoding: .utf8).contains("interrupted"))
            #expect(try await server.end(SIGTERM) == 0)
            // A line a call, and no more.
            let log = try String(contentsOfFile: server.error, encoding: .utf8).split(separator: "\n")
            #expect(log.count == 1 && log[0].contains(" ended by the caller after ") && log[0].contains("webrtc"))
            let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".pem") }
            #expect(left.isEmpty)
        }
    }

    @Test("A signal while a name is looked up or a server is silent ends as soon") func interruptedEarly() async throws
    {
        try await withFolder { folder in
            let events = folder.appending(path: "e.jsonl").path
            // Listens and never answers: TLS waits.
            let silent = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(silent) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let port = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw -> UInt16 in
                    guard bind(silent, raw, length) == 0, listen(silent, 1) == 0, getsockname(silent, raw, &length) == 0
                    else { return 0 }
                    return UInt16(bigEndian: pointer.pointee.sin_port)
                }
            }
            #expect(port > 0)
            let call = try Child(
                folder, "call", ["call", "wss://127.0.0.1:\(port)/", "--insecure", "--ndjson", events, "--json", "-"])
            _ = try await call.wait(for: #""event":"state""#, in: events)
            #expect(try await call.end(SIGINT) == 130)
            let report = try JSONDecoder().decode(
                JSONValue.self, from: Data(contentsOf: URL(fileURLWithPath: call.output)))
            #expect(report["aborted"] == .bool(true))
        }
    }

    @Test("An authority that does not vouch is named, and --ca is asked for where there is none") func untrusted()
        async throws
    {
        try await withFolder { folder in
            let server = try Child(folder, "serve", ["serve"])
            let line = try word("line", in: try await server.wait(for: "ca=", in: server.output))
            let other = try Child(folder, "other", ["serve"])
            let wrong = try word("ca", in: try await other.wait(for: "ca=", in: other.output))
            for flags in [[], ["--ca", wrong]] {
                let call = try Child(folder, "call\(flags.count)", ["call", line] + flags)
                #expect(try await call.exitCode() == 69)
                let error = try String(contentsOfFile: call.error, encoding: .utf8)
                #expect(error.contains("(--ca \(wrong)) does not vouch for this server") == !flags.isEmpty)
                let text = try String(contentsOfFile: call.output, encoding: .utf8)
                #expect(text.contains("untrusted_certificate") && text.contains("with --ca"))
            }
            #expect(try await server.end(SIGINT) == 0)
            #expect(try await other.end(SIGINT) == 0)
        }
    }

    @Test("The far end's hang-up in the middle is said and is no fault") func farEndHangsUp() async throws {
        try await withFolder { folder in
            let server = try Child(folder, "serve", ["serve", "--quiet"])
            let ready = try await server.wait(for: "ca=", in: server.output)
            let events = folder.appending(path: "e.jsonl").path
            let call = try Child(
                folder, "call",
                [
                    "call", try word("line", in: ready), "--ca", try word("ca", in: ready), "--duration", "600",
                    "--ndjson", events,
                ])
            _ = try await call.wait(for: #""state":"active""#, in: events)
            #expect(try await server.end(SIGTERM) == 0)
            #expect(try await call.exitCode() == 0)
            #expect(try String(contentsOfFile: call.output, encoding: .utf8).contains("the far end hung up after "))
            #expect(try String(contentsOfFile: server.error, encoding: .utf8) == "")
        }
    }

    @Test("A port in use is 71 and one line") func busyPort() async throws {
        try await withFolder { folder in
            let server = try Child(folder, "serve", ["serve", "--bind", "any"])
            let ready = try await server.wait(for: "ca=", in: server.output)
            #expect(ready.contains("127.0.0.1") && ready.contains("[::1]"))
            let port = try #require(try word("line", in: ready).split(separator: ":").last?.dropLast())
            let second = try Child(folder, "second", ["serve", "--bind", "::1", "--port", String(port)])
            #expect(try await second.exitCode() == 71)
            let error = try String(contentsOfFile: second.error, encoding: .utf8)
            #expect(error == "error: another program already uses [::1]:\(port)\n")
            #expect(try await server.end(SIGINT) == 0)
        }
    }

    @Test(
        "Every family and a relay in front of a host name", arguments: [["-4"], ["-6"], ["--impair", "line.delay=5"]])
    func families(flags: [String]) async throws {
        try await withFolder { folder in
            let server = try Child(folder, "serve", ["serve", "--bind", "127.0.0.1,::1"])
            let ready = try await server.wait(for: "ca=", in: server.output)
            let port = try #require(try word("line", in: ready).split(separator: ":").last?.dropLast())
            let host = flags == ["-6"] ? "[::1]" : flags == ["-4"] ? "127.0.0.1" : "localhost"
            let call = try Child(
                folder, "call",
                [
                    "call", "wss://\(host):\(port)/", "--ca", try word("ca", in: ready), "--duration", "0.5", "--json",
                    "-",
                ]
                    + flags)
            let code = try await call.exitCode()
            let report = try JSONDecoder().decode(
                JSONValue.self, from: Data(contentsOf: URL(fileURLWithPath: call.output)))
            #expect(report["call"]?["transport"] == "webrtc", "\(report["call"] ?? .null)")
            #expect(code == 0 || code == 2)
            #expect(try await server.end(SIGTERM) == 0)
        }
    }
}
