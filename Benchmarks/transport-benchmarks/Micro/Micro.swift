/// The suite `micro`: what one operation costs, without sockets and threads.
enum Micro {
    /// Its benchmarks, in the order of the report.
    static var benchmarks: [Benchmark] { core + simulation + media }
}
