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
    private let endpoint: Subprocess
    /// What keeps the endpoint alive: it ends when this is closed, however this process ends.
    private let input: Mutex<FileHandle?>

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
            tool("ip") != nil, let unshare = tool("unshare"),
            (try? Subprocess.run([unshare, "--net", "--", "true"])) != nil
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
        guard let ip = Self.tool("ip"), let unshare = Self.tool("unshare"), let sh = Self.tool("sh"),
            let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        else { throw .resource("--cause interface needs ip, unshare and sh") }
        let (input, output) = (Pipe(), Pipe())
        // Its own end of the pipe must not keep it alive.
        for pipe in [input.fileHandleForWriting, output.fileHandleForReading] {
            _ = fcntl(pipe.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        endpoint = try Subprocess(
            [unshare, "--net", "--", sh, "-c", Self.script, own], input: input.fileHandleForReading.fileDescriptor,
            output: output.fileHandleForWriting.fileDescriptor)
        try? output.fileHandleForWriting.close()
        try? input.fileHandleForReading.close()
        self.input = Mutex(input.fileHandleForWriting)
        _ = try Self.line(from: output, startingWith: "here")
        try Subprocess.run([ip, "link", "set", "lo", "up"])
        for (index, net) in Self.nets.enumerated() {
            let here = "here-\(index + 1)"
            try Subprocess.run(
                [
                    ip, "link", "add", here, "type", "veth", "peer", "name", "there-\(index + 1)", "netns",
                    String(endpoint.id),
                ])
            try Subprocess.run([ip, "addr", "add", "\(net).2/24", "dev", here])
            try Subprocess.run([ip, "link", "set", here, "up"])
        }
        // The line's wire carries no media.
        try Subprocess.run([ip, "rule", "add", "ipproto", "udp", "to", "\(Self.nets[0]).0/24", "prohibit"])
        do {
            try input.fileHandleForWriting.write(contentsOf: Data("go\n".utf8))
        } catch {
            throw .resource("the endpoint of --cause interface is gone")
        }
        let words = try Self.line(from: output, startingWith: "READY").split(separator: " ")
        guard let line = words.first(where: { $0.hasPrefix("line=") }),
            let ca = words.first(where: { $0.hasPrefix("ca=") })
        else { throw .resource("the endpoint of --cause interface is not ready") }
        (url, caFile) = (String(line.dropFirst(5)), String(ca.dropFirst(3)))
    }

    /// Takes the wire down whose address is `address`; false when there is none.
    func takeDown(_ address: IPAddress) -> Bool {
        guard let index = Self.nets.firstIndex(where: { address.description == $0 + ".2" }), let ip = Self.tool("ip")
        else {
            return false
        }
        return (try? Subprocess.run([ip, "link", "set", "here-\(index + 1)", "down"])) != nil
    }

    func close() {
        try? input.withLock { try $0?.close() }
        endpoint.wait()
    }

    private static func tool(_ name: String) -> String? {
        ["/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"].map { $0 + name }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The next line of `output` that starts with `word`.
    private static func line(from output: Pipe, startingWith word: String) throws(ProbeError) -> String {
        var text = ""
        while true {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw .resource("the endpoint of --cause interface ended") }
            text += String(decoding: data, as: UTF8.self)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: { $0.hasPrefix(word) }) { return String(line) }
        }
    }
}
