internal import Foundation
internal import ICELite
internal import Synchronization

/// A network of the probe's own for `recover --cause interface`: this process in a network namespace, an echo endpoint in
/// another, and three wires between them: one for the line, two for media. Nothing of the host's is touched, and all of it
/// goes with the processes.
///
/// Needs root, `unshare` and `ip`. The process starts itself again inside its namespace (``enter(_:environment:)``).
final class OwnNetwork: Sendable {
    /// Set in the process that was started inside.
    private static let marker = "GRAINE_PROBE_OWN_NETWORK"
    /// The nets of the wires (documentation addresses, RFC 5737); the first is the line's.
    private static let nets = ["203.0.113", "192.0.2", "198.51.100"]
    /// How the endpoint's end of it comes up; ends when its standard input does.
    private static let script = """
        ip link set lo up && echo here && read -r go || exit 1
        number=0
        for net in \(nets.joined(separator: " ")); do
            number=$((number + 1))
            ip addr add "$net.1/24" dev "there-$number" && ip link set "there-$number" up || exit 1
        done
        "$0" serve --quiet --bind \(nets.map { $0 + ".1" }.joined(separator: ",")) </dev/null &
        read -r over
        kill $!
        wait
        """

    /// The URL to dial, over a wire that carries no media, and the certificate to trust.
    let url: String
    let caFile: String
    /// What keeps the endpoint alive: it ends with this.
    private let input: Pipe
    private let endpoint: Mutex<Process>

    /// Whether this process is inside a namespace of its own.
    static func isEntered(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> Bool {
        environment[marker] != nil
    }

    /// Starts this program again inside a namespace when `arguments` ask for what needs one and this machine allows it; then
    /// it does not return.
    static func enter(_ arguments: [String], environment: [String: String]) {
        guard !isEntered(environment), geteuid() == 0,
            let options = try? ArgumentParser(environment: environment).parse(arguments),
            options.command == .recover, options.cause == .interface, options.target == nil, options.information == nil,
            options.impairment.isClear, options.bind.isEmpty, options.family != .v6,
            let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
            tool("ip") != nil, let unshare = tool("unshare"), (try? run(unshare, ["--net", "--", "true"])) != nil
        else { return }
        setenv(marker, "1", 1)
        var words = ([unshare, "--net", "--", own] + arguments).map { strdup($0) }
        words.append(nil)
        execv(unshare, words)
        // Still here: it goes on without one.
        unsetenv(marker)
    }

    /// Lays the wires and starts the endpoint.
    ///
    /// - Throws: `resource` when one of them cannot be had.
    init() throws(ProbeError) {
        let process = Process()
        let output = Pipe()
        input = Pipe()
        do {
            guard let ip = Self.tool("ip"), let unshare = Self.tool("unshare"), let sh = Self.tool("sh") else {
                throw ProbeError.resource("ip, unshare or sh is missing")
            }
            let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            process.executableURL = URL(fileURLWithPath: unshare)
            process.arguments = ["--net", "--", sh, "-c", Self.script, own]
            (process.standardInput, process.standardOutput) = (input, output)
            try process.run()
            _ = try Self.line(from: output, startingWith: "here")
            _ = try Self.run(ip, ["link", "set", "lo", "up"])
            for (index, net) in Self.nets.enumerated() {
                let here = "here-\(index + 1)"
                _ = try Self.run(
                    ip,
                    [
                        "link", "add", here, "type", "veth", "peer", "name", "there-\(index + 1)", "netns",
                        String(process.processIdentifier),
                    ])
                _ = try Self.run(ip, ["addr", "add", "\(net).2/24", "dev", here])
                _ = try Self.run(ip, ["link", "set", here, "up"])
            }
            // The line's wire carries no media.
            _ = try Self.run(ip, ["rule", "add", "ipproto", "udp", "to", "\(Self.nets[0]).0/24", "prohibit"])
            try input.fileHandleForWriting.write(contentsOf: Data("go\n".utf8))
            let words = try Self.line(from: output, startingWith: "READY").split(separator: " ")
            guard let line = words.first(where: { $0.hasPrefix("line=") }),
                let ca = words.first(where: { $0.hasPrefix("ca=") })
            else { throw ProbeError.resource("the endpoint is not ready") }
            (url, caFile) = (String(line.dropFirst(5)), String(ca.dropFirst(3)))
        } catch {
            try? input.fileHandleForWriting.close()
            throw .resource("the network for --cause interface: \((error as? ProbeError)?.message ?? "\(error)")")
        }
        endpoint = Mutex(process)
    }

    /// Takes the wire down whose address is `address`; false when there is none.
    func takeDown(_ address: IPAddress) -> Bool {
        guard let index = Self.nets.firstIndex(where: { address.description == $0 + ".2" }), let ip = Self.tool("ip")
        else {
            return false
        }
        return (try? Self.run(ip, ["link", "set", "here-\(index + 1)", "down"])) != nil
    }

    func close() {
        try? input.fileHandleForWriting.close()
        endpoint.withLock { $0.waitUntilExit() }
    }

    private static func tool(_ name: String) -> String? {
        ["/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"].map { $0 + name }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    private static func run(_ tool: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: tool)
        process.arguments = arguments
        let errors = Pipe()
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, errors)
        try process.run()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ProbeError.resource("\(tool): \(text)") }
    }

    /// The next line of `output` that starts with `word`.
    private static func line(from output: Pipe, startingWith word: String) throws -> String {
        var text = ""
        while true {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw ProbeError.resource("its endpoint ended") }
            text += String(decoding: data, as: UTF8.self)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: { $0.hasPrefix(word) }) { return String(line) }
        }
    }
}
