internal import Glibc

/// A relay that runs as a process of its own, so that nothing of the load is in its CPU time.
final class EchoProcess {
    /// The program's name, which lies beside this one.
    let name: String
    private(set) var port: UInt16 = 0
    private var pid: pid_t = 0
    private var clock: clockid_t = 0
    private var input: Int32 = -1

    /// Starts it and waits for its port; nil when it does not come up.
    init?(_ name: String, profile: String, peers: [UInt16]) {
        self.name = name
        var own = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &own, own.count - 1)
        guard count > 0 else { return nil }
        let path = own[..<count].map { UInt8(bitPattern: $0) }
        let folder = String(decoding: path[...(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)], as: UTF8.self)
        var down: [Int32] = [-1, -1]
        var up: [Int32] = [-1, -1]
        guard pipe(&down) == 0, pipe(&up) == 0 else { return nil }
        // No other program is to hold these ends, or none would see the end of its input.
        for descriptor in down + up { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        defer {
            close(down[0])
            close(up[0])
            close(up[1])
        }
        input = down[1]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, down[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, up[1], STDOUT_FILENO)
        let words = [folder + name, profile] + peers.map(String.init)
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        guard posix_spawn(&pid, words[0], &actions, nil, &arguments, environ) == 0 else { return nil }
        var text = [UInt8](repeating: 0, count: 64)
        close(up[1])
        up[1] = -1
        let read = Glibc.read(up[0], &text, text.count)
        guard read > 0, clock_getcpuclockid(pid, &clock) == 0,
            let port = String(decoding: text[..<read], as: UTF8.self).split(whereSeparator: \.isWhitespace).last
                .flatMap({ UInt16($0) })
        else { return nil }
        self.port = port
    }

    deinit {
        if input >= 0 { close(input) }
        if pid > 0 { waitpid(pid, nil, 0) }
    }

    /// Nanoseconds of CPU it has used so far, all its threads.
    var cpuTime: Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
