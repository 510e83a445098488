internal import Foundation

/// Another program, run by `posix_spawn`. A `Foundation.Process` wants a run loop to learn of an end, and stood still in a
/// process that had started itself again.
struct Subprocess: Sendable {
    let id: pid_t

    /// Starts `words`, the program's path first.
    ///
    /// - Parameters:
    ///   - input: what becomes its standard input; nil: nothing to read.
    ///   - output: what becomes its standard output; nil: thrown away, as its errors are.
    /// - Throws: `resource` when it cannot be started.
    init(_ words: [String], input: Int32? = nil, output: Int32? = nil) throws(ProbeError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, given) in [(STDIN_FILENO, input), (STDOUT_FILENO, output), (STDERR_FILENO, nil)] {
            if let given {
                posix_spawn_file_actions_adddup2(&actions, given, descriptor)
            } else {
                posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
            }
        }
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, words[0], &actions, nil, &arguments, environ)
        guard code == 0 else { throw .resource("\(words[0]): \(String(cString: strerror(code)))") }
        self.id = id
    }

    /// Waits for its end; its exit code, or nil when a signal ended it.
    @discardableResult func wait() -> Int32? {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }

    /// Runs `words` to its end.
    ///
    /// - Throws: `resource` when it cannot be started, or its exit code is not 0.
    static func run(_ words: [String]) throws(ProbeError) {
        guard try Subprocess(words).wait() == 0 else { throw .resource("\(words.joined(separator: " ")) failed") }
    }
}
