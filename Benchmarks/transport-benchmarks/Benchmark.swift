/// One thing that is measured.
struct Benchmark {
    /// Runs the measured operation this many times. Built once a benchmark; what it captures is set up before.
    typealias Operation = (_ iterations: Int) -> Void

    /// `suite/name`, the way `--filter` and the report know it.
    let name: String
    /// Bytes or other units an operation handles, for the reader of the report.
    let note: String
    /// Most nanoseconds that the fastest sample may take an operation, for `--check`; nil when nothing is promised.
    let limit: Double?
    /// Sets up and returns what is measured.
    let make: () -> Operation

    init(_ name: String, note: String = "", limit: Double? = nil, make: @escaping () -> Operation) {
        self.name = name
        self.note = note
        self.limit = limit
        self.make = make
    }
}

/// Keeps the compiler from leaving out the calculation of `value`. Costs some 20 ns: call it once a sample where possible.
@inline(never)
@_optimize(none)
func keep<Value>(_ value: Value) {}
