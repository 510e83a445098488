internal import CLinux
internal import Glibc

/// What this process holds of the system now: what a leak would show in.
package struct ProcessFigures: Sendable, Hashable {
    /// Open file descriptors, the one that counts them left out.
    package var descriptors = 0
    /// Threads of the process, all of them.
    package var threads = 0
    /// Threads of ours: a call's or an endpoint's loop, or a name lookup of one.
    package var ownThreads = 0
    /// Resident memory in bytes.
    package var residentBytes = 0
    /// Bytes that were allocated and not freed, as the C library counts them, mapped blocks included.
    package var heapBytes = 0
    /// Bytes that the C library has from the system for its heaps, used or not.
    package var heapReserved = 0

    /// Reads them.
    package static func now() -> ProcessFigures {
        var figures = ProcessFigures()
        figures.descriptors = entries(of: "/proc/self/fd").count - 1
        let threads = entries(of: "/proc/self/task")
        figures.threads = threads.count
        figures.ownThreads = threads.count { text(of: "/proc/self/task/\($0)/comm").hasPrefix("graine-") }
        let pages = text(of: "/proc/self/statm").split(separator: " ").dropFirst().first.flatMap { Int($0) }
        figures.residentBytes = (pages ?? 0) * sysconf(Int32(_SC_PAGESIZE))
        figures.heapBytes = Int(clinux_heap_used())
        figures.heapReserved = Int(clinux_heap_reserved())
        return figures
    }

    /// Gives free memory back to the system: what stays resident afterwards is in use, or between what is.
    package static func trimHeap() { clinux_heap_trim() }

    /// What the open descriptors are, each kind with its number, for a message.
    package static func descriptorKinds() -> String {
        var kinds: [String: Int] = [:]
        for name in entries(of: "/proc/self/fd") {
            var target = [UInt8](repeating: 0, count: 256)
            let length = target.withUnsafeMutableBytes { buffer -> Int in
                guard let base = buffer.baseAddress else { return -1 }
                return readlink("/proc/self/fd/\(name)", base, buffer.count)
            }
            guard length > 0 else { continue }
            let kind = String(decoding: target[..<length], as: UTF8.self).prefix { $0 != "[" }
            kinds[String(kind), default: 0] += 1
        }
        return kinds.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    private static func entries(of directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func text(of path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
    }
}
