internal import Glibc
internal import TransportTestKit

/// `transport-benchmarks handshakes`: the rate beside that of OpenSSL alone, then thousands of handshakes over loopback
/// sockets in a row; one that fails, or what they leave behind, fails it.
enum HandshakeRun {
    /// Handshakes before memory is looked at: OpenSSL and the heap settle.
    static let warmUp = 500
    /// Bytes on the heap that all counted handshakes together may leave; what they do leave is exactly 0.
    static let heapLimit = 4_096
    /// Turns malloc's caches of each thread off: it counts what they keep as in use, up to some 100 KB.
    private static let withoutCaches = "glibc.malloc.tcache_count=0"

    static let usage = """
        transport-benchmarks handshakes [--count N] [--samples N]
          --count N    handshakes over loopback, 500 to 1000000 (default 10000)
          --samples N  samples of each rate, 1 to 100000; 0 for none (default 200)
        """

    /// Runs it and returns the exit code: 0 when all is well, 1 when a handshake failed or something was left behind.
    static func run(_ arguments: [String]) -> Int32 {
        var count = 10_000
        var samples = Harness.defaultSamples
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let number = rest.popFirst().flatMap({ Int($0) }) else { return explain() }
            switch option {
            case "--count" where (500...1_000_000).contains(number): count = number
            case "--samples" where (0...100_000).contains(number): samples = number
            default: return explain()
            }
        }
        if samples > 0 { rates(samples) }
        return countsExactly ? row(count) : runAgain(count)
    }

    /// The C library reads its tunables once, as a process begins.
    private static var countsExactly: Bool { getenv("GLIBC_TUNABLES").map { String(cString: $0) } == withoutCaches }

    /// The row in this process begun anew, without the caches. Returns only when that cannot be had.
    private static func runAgain(_ count: Int) -> Int32 {
        setenv("GLIBC_TUNABLES", withoutCaches, 1)
        let words = ["transport-benchmarks", "handshakes", "--count", "\(count)", "--samples", "0"]
        let arguments = words.map { (word: String) in strdup(word) }
        execv("/proc/self/exe", arguments + [nil])
        say("error: the benchmark cannot begin anew: \(String(cString: strerror(errno)))", toErrors: true)
        return 71
    }

    private static func explain() -> Int32 {
        say(usage, toErrors: true)
        return 64
    }

    private static func rates(_ samples: Int) {
        let measured = Harness(samples: samples).measure(Handshakes.benchmarks)
        for one in measured {
            say("\(one.name): \(Int(1e9 / one.median)) a second (median of \(samples) in turns)", toErrors: false)
        }
        guard measured.count == 2, measured[0].median > 0 else { return }
        say("ratio: \(Int(measured[1].median / measured[0].median * 100)) % of OpenSSL alone", toErrors: false)
    }

    private static func row(_ count: Int) -> Int32 {
        guard let handshake = SessionHandshake() else {
            say("error: OpenSSL makes no certificate", toErrors: true)
            return 71
        }
        var failed = 0
        for _ in 0..<warmUp { failed += handshake.runOverLoopback() ? 0 : 1 }
        let before = ProcessFigures.now()
        for _ in 0..<count { failed += handshake.runOverLoopback() ? 0 : 1 }
        let after = ProcessFigures.now()
        let heap = after.heapBytes - before.heapBytes
        let descriptors = after.descriptors - before.descriptors
        say(
            """
            \(count) handshakes over loopback, \(warmUp) before them: \(failed) failed; \(heap) bytes on the heap, \
            \(descriptors) descriptors, \(after.residentBytes - before.residentBytes) resident bytes more
            """, toErrors: false)
        guard failed == 0, heap <= heapLimit, descriptors == 0 else {
            say("error: handshakes failed or left something behind", toErrors: true)
            return 1
        }
        return 0
    }
}
