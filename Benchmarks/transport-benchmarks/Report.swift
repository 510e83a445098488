internal import Glibc

/// The measurements as a table and as JSON.
struct Report {
    let measurements: [Measurement]
    let samples: Int

    /// Optimised or not: numbers of a debug build are not worth comparing.
    static var configuration: String {
        var isDebug = false
        assert(
            {
                isDebug = true
                return true
            }())
        return isDebug ? "debug" : "release"
    }

    static let header =
        pad("benchmark", 44) + pad("min ns", 12, right: true) + pad("median ns", 12, right: true)
        + pad("p99 ns", 12, right: true) + pad("allocs", 10, right: true)

    static func line(_ measurement: Measurement) -> String {
        pad(measurement.name, 44) + pad(fixed(measurement.minimum, 2), 12, right: true)
            + pad(fixed(measurement.median, 2), 12, right: true)
            + pad(fixed(measurement.percentile(99), 2), 12, right: true)
            + pad(measurement.allocations.map { fixed($0, 2) } ?? "-", 10, right: true)
            + (measurement.note.isEmpty ? "" : "   \(measurement.note)")
    }

    /// Schema `graine.benchmarks/1`: additive changes only.
    var json: String {
        let rows = measurements.map { measurement in
            """
                {"name": \(quoted(measurement.name)), "note": \(quoted(measurement.note)), \
            "iterations": \(measurement.iterations), \
            "ns_per_op": {"min": \(fixed(measurement.minimum, 3)), "median": \(fixed(measurement.median, 3)), \
            "p99": \(fixed(measurement.percentile(99), 3))}, \
            "allocations_per_op": \(measurement.allocations.map { fixed($0, 4) } ?? "null")}
            """
        }
        return """
            {
              "schema": "graine.benchmarks/1",
              "configuration": "\(Self.configuration)",
              "cores": \(sysconf(Int32(_SC_NPROCESSORS_ONLN))),
              "samples": \(samples),
              "benchmarks": [
            \(rows.joined(separator: ",\n"))
              ]
            }

            """
    }

    /// Writes the JSON to `path`, or to standard output for `-`. False when it cannot be written.
    func write(to path: String) -> Bool { transport_benchmarks.write(json, to: path) }
}

/// Writes `text` to the file at `path`, or to standard output for `-`. False when it cannot be written.
func write(_ text: String, to path: String) -> Bool {
    if path == "-" { return writeAll(text, to: STDOUT_FILENO) }
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return writeAll(text, to: descriptor)
}

/// Writes all of `text` to a descriptor. False when that fails.
func writeAll(_ text: String, to descriptor: Int32) -> Bool {
    let bytes = Array(text.utf8)
    var written = 0
    while written < bytes.count {
        let count = bytes[written...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { return false }
        written += count
    }
    return true
}

/// `value` with `digits` decimals.
func fixed(_ value: Double, _ digits: Int) -> String {
    guard value.isFinite else { return "0" }
    let scale = (0..<digits).reduce(1) { product, _ in product * 10 }
    let scaled = Int64(min(max(value, 0), 1e12) * Double(scale) + 0.5)
    let fraction = String(scaled % Int64(scale))
    return digits == 0
        ? "\(scaled)"
        : "\(scaled / Int64(scale))." + String(repeating: "0", count: digits - fraction.count) + fraction
}

func pad(_ text: String, _ width: Int, right: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - text.count))
    return right ? space + text : text + space
}

func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": quoted += "\\\""
        case "\\": quoted += "\\\\"
        case _ where scalar.value < 0x20:
            let digits = String(scalar.value, radix: 16)
            quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: quoted.unicodeScalars.append(scalar)
        }
    }
    return quoted + "\""
}
