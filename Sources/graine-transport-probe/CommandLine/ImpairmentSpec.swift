/// What `--impair` asks for: how the relay in front of the target treats packets (UDP) and the line (TCP).
///
/// Grammar: items separated by commas, each `[line.][up.|down.]name=value`. Without `line.` an item is for UDP; without
/// a direction it is for both, applied to each separately (`delay=50` adds 100 ms to the round trip).
///
/// | name | value |
/// |---|---|
/// | `loss`, `reorder`, `dup` | percent of packets, 0 to 100 (UDP only) |
/// | `burst` | mean length of a run of lost packets, 1 or more (UDP only, with `loss`) |
/// | `delay`, `jitter` | one-way milliseconds |
/// | `rate` | bit/s; `k` and `M` are allowed |
/// | `blackhole` | `LENGTH@START` or, again and again, `LENGTH@START/PERIOD`, seconds unless `ms` is written; may be given more than once |
/// | `udp` | `drop`: nothing passes, silently · `reject`: ICMP port unreachable (UDP only, no direction) |
struct ImpairmentSpec: Equatable, Sendable {
    /// One black-hole window.
    struct BlackHole: Equatable, Sendable {
        /// Milliseconds since the relay started.
        var startMilliseconds: Double
        var lengthMilliseconds: Double
        /// From the beginning of one to that of the next; nil: there is one.
        var periodMilliseconds: Double?
    }

    /// One direction of one carriage.
    struct Link: Equatable, Sendable {
        var lossPercent = 0.0
        /// Mean packets in a run of losses; nil: each packet is lost on its own.
        var burstPackets: Double?
        var reorderPercent = 0.0
        var duplicatePercent = 0.0
        var delayMilliseconds = 0.0
        var jitterMilliseconds = 0.0
        /// nil: no limit.
        var bitsPerSecond: Double?
        var blackHoles: [BlackHole] = []

        var isClear: Bool { self == Link() }
    }

    /// What becomes of UDP as a whole.
    enum UDPMode: String, CaseIterable, Sendable { case pass, drop, reject }

    /// Most black-hole windows a direction may have.
    static let blackHoleLimit = 32

    var udp = UDPMode.pass
    /// Client to server, UDP.
    var packetsUp = Link()
    /// Server to client, UDP.
    var packetsDown = Link()
    /// Client to server, TCP.
    var lineUp = Link()
    /// Server to client, TCP.
    var lineDown = Link()

    /// Whether there is nothing to impair, and so no relay to start.
    var isClear: Bool { self == ImpairmentSpec() }

    /// Reads the grammar above.
    ///
    /// - Throws: ``ProbeError/usage(_:)`` naming the item that is wrong.
    static func parse(_ text: String) throws(ProbeError) -> ImpairmentSpec {
        var spec = ImpairmentSpec()
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            let (path, value) = try KeyedItem.split(item, option: "--impair")
            var words = path.split(separator: ".", omittingEmptySubsequences: false)
            let isLine = words.first == "line"
            if isLine { words.removeFirst() }
            let direction = words.first == "up" || words.first == "down" ? words.removeFirst() : nil
            guard words.count == 1, let name = words.first else {
                throw .usage("--impair: \(path) is not [line.][up.|down.]name")
            }
            if name == "udp" {
                guard !isLine, direction == nil, let mode = UDPMode(rawValue: value), mode != .pass else {
                    throw .usage("--impair: \(path) must be udp=drop or udp=reject")
                }
                spec.udp = mode
                continue
            }
            if direction != "down" {
                try
                    (isLine
                    ? spec.lineUp.set(name, value, path, isLine) : spec.packetsUp.set(name, value, path, isLine))
            }
            if direction != "up" {
                try
                    (isLine
                    ? spec.lineDown.set(name, value, path, isLine) : spec.packetsDown.set(name, value, path, isLine))
            }
        }
        for link in [spec.packetsUp, spec.packetsDown] where link.burstPackets != nil && link.lossPercent == 0 {
            throw .usage("--impair: burst needs loss in the same direction")
        }
        return spec
    }
}

extension ImpairmentSpec.Link {
    private static let names = ["loss", "burst", "reorder", "dup", "delay", "jitter", "rate", "blackhole", "udp"]
    private static let percent = 0.0...100.0
    private static let milliseconds = 0.0...60_000.0

    fileprivate mutating func set(
        _ name: Substring, _ value: String, _ path: String, _ isLine: Bool
    ) throws(ProbeError) {
        let option = "--impair"
        if isLine, ["loss", "burst", "reorder", "dup"].contains(name) {
            throw .usage("--impair: \(path): TCP hides it from the line; use line.delay, jitter, rate or blackhole")
        }
        switch name {
        case "loss":
            lossPercent = try KeyedItem.number(value.droppingPercent, name: path, option: option, in: Self.percent)
        case "reorder":
            reorderPercent = try KeyedItem.number(value.droppingPercent, name: path, option: option, in: Self.percent)
        case "dup":
            duplicatePercent = try KeyedItem.number(value.droppingPercent, name: path, option: option, in: Self.percent)
        case "burst": burstPackets = try KeyedItem.number(value, name: path, option: option, in: 1...1_000)
        case "delay":
            delayMilliseconds = try KeyedItem.number(
                value.dropping(suffix: "ms"), name: path, option: option, in: Self.milliseconds)
        case "jitter":
            jitterMilliseconds = try KeyedItem.number(
                value.dropping(suffix: "ms"), name: path, option: option, in: Self.milliseconds)
        case "rate": bitsPerSecond = try Self.rate(value, path)
        case "blackhole":
            guard blackHoles.count < ImpairmentSpec.blackHoleLimit else {
                throw .usage("--impair: at most \(ImpairmentSpec.blackHoleLimit) blackholes")
            }
            blackHoles.append(try Self.blackHole(value, path))
        default:
            let hint = Spelling.nearest(to: String(name), among: Self.names).map { "; did you mean \($0)?" } ?? ""
            throw .usage("--impair: \(path) is not one of \(Self.names.joined(separator: ", "))\(hint)")
        }
    }

    private static func rate(_ value: String, _ path: String) throws(ProbeError) -> Double {
        var digits = value
        var scale = 1.0
        switch value.last {
        case "k", "K": (digits, scale) = (String(value.dropLast()), 1_000)
        case "m", "M": (digits, scale) = (String(value.dropLast()), 1_000_000)
        default: break
        }
        let number = try KeyedItem.number(digits, name: path, option: "--impair", in: 0...10_000_000_000)
        guard number * scale >= 1_000, number * scale <= 10_000_000_000 else {
            throw .usage("--impair: \(path) must be 1000 bit/s or more")
        }
        return number * scale
    }

    private static func blackHole(_ value: String, _ path: String) throws(ProbeError) -> ImpairmentSpec.BlackHole {
        let parts = value.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw .usage("--impair: \(path) must be LENGTH@START, as blackhole=2@5") }
        let length = try time(parts[0], path)
        guard length > 0 else { throw .usage("--impair: \(path) must be longer than 0") }
        let times = parts[1].split(separator: "/", omittingEmptySubsequences: false)
        guard times.count <= 2 else {
            throw .usage("--impair: \(path) must be LENGTH@START/PERIOD, as blackhole=1@5/20")
        }
        var hole = ImpairmentSpec.BlackHole(startMilliseconds: try time(times[0], path), lengthMilliseconds: length)
        if times.count == 2 {
            hole.periodMilliseconds = try time(times[1], path)
            guard hole.periodMilliseconds ?? 0 > length else {
                throw .usage("--impair: the period of \(path) must be longer than its blackhole")
            }
        }
        return hole
    }

    /// Milliseconds from `2`, `2s` or `200ms`.
    private static func time(_ text: Substring, _ path: String) throws(ProbeError) -> Double {
        let isMilliseconds = text.hasSuffix("ms")
        let digits = isMilliseconds ? text.dropLast(2) : text.hasSuffix("s") ? text.dropLast() : text
        let number = try KeyedItem.number(String(digits), name: path, option: "--impair", in: 0...3_600_000)
        return isMilliseconds ? number : number * 1_000
    }
}

extension String {
    fileprivate var droppingPercent: String { dropping(suffix: "%") }

    fileprivate func dropping(suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
