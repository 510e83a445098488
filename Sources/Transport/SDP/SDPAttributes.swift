internal import ICELite

/// What the `a=` lines of one level say, the session or a media section. Of what may be said once, the first counts.
struct SDPAttributes<Text: SDPBytes> {
    private(set) var ufrag: Text?
    private(set) var password: Text?
    private(set) var iceOptions: [String]?
    private(set) var setup: Text?
    private(set) var mid: Text?
    private(set) var direction: MediaDirection?
    private(set) var isLite = false
    private(set) var hasRTCPMux = false
    private(set) var hasReducedSizeRTCP = false
    private(set) var hasLossRLE = false
    private(set) var isBundleOnly = false
    private(set) var endOfCandidates = false
    private(set) var allowsMixedExtensions = false
    private(set) var hasFingerprint = false
    /// Usable ones.
    private(set) var fingerprints: [CertificateFingerprint] = []
    /// Whether a fingerprint line has no fingerprint in it.
    private(set) var hasMalformedFingerprint = false
    /// After `candidate:`.
    private(set) var candidates: [Text] = []
    /// After `BUNDLE`.
    private(set) var bundles: [Text] = []
    /// `rtpmap` and `fmtp`, by payload type.
    private(set) var maps: [Int: Text] = [:]
    private(set) var formatParameters: [Int: Text] = [:]
    /// Milliseconds, 3…120.
    private(set) var packetTime: Int?
    private(set) var ssrc: SSRC?
    private(set) var cname: String?
    private var sourceLineCount = 0
    private(set) var extensions = OfferedExtensions()

    /// Reads what follows `a=`.
    mutating func read(_ line: Text) {
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        let name = line[..<(colon ?? line.endIndex)]
        let value = colon.map { SDPText.trimmed(line[line.index(after: $0)...]) } ?? line[line.endIndex...]
        // Names are as long as they are, and matter in their case. RFC 8866 §5.13.
        switch SDPText.string(name, limit: 32) {
        case "ice-ufrag": ufrag = ufrag ?? value
        case "ice-pwd": password = password ?? value
        case "ice-options": iceOptions = iceOptions ?? Self.options(value)
        case "ice-lite": isLite = true
        case "fingerprint": readFingerprint(value)
        case "setup": setup = setup ?? value
        case "mid": mid = mid ?? value
        case "sendrecv": direction = direction ?? .sendrecv
        case "sendonly": direction = direction ?? .sendonly
        case "recvonly": direction = direction ?? .recvonly
        case "inactive": direction = direction ?? .inactive
        case "rtcp-mux": hasRTCPMux = true
        case "rtcp-rsize": hasReducedSizeRTCP = true
        case "rtcp-xr": hasLossRLE = hasLossRLE || SDPText.words(value).contains(where: Self.isLossRLE)
        case "bundle-only": isBundleOnly = true
        case "candidate": if candidates.count < RemoteMedia.maximumCandidateCount { candidates.append(value) }
        case "end-of-candidates": endOfCandidates = true
        case "group": readGroup(value)
        case "rtpmap": Self.read(value, into: &maps)
        case "fmtp": Self.read(value, into: &formatParameters)
        case "ptime":
            if packetTime == nil { packetTime = SDPText.number(value).flatMap { (3...120).contains($0) ? $0 : nil } }
        case "ssrc": readSource(value)
        case "extmap": extensions.read(value)
        case "extmap-allow-mixed": allowsMixedExtensions = true
        default: break
        }
    }

    /// RFC 8839 §5.6 has blanks between the words; commas are seen, too.
    private static func options(_ value: Text) -> [String] {
        value.split(maxSplits: SDPLimits.iceOptionCount) { $0 == 0x20 || $0 == UInt8(ascii: ",") }
            .prefix(SDPLimits.iceOptionCount).map { SDPText.string($0, limit: 64) }
    }

    /// `pkt-loss-rle`, with or without a largest size. RFC 3611 §5.1.
    private static func isLossRLE(_ word: Text) -> Bool {
        let parts = word.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0].elementsEqual("pkt-loss-rle".utf8) else { return false }
        return parts.count == 1 || SDPText.number(parts[1]) != nil
    }

    /// RFC 8122 §5. What a hash that we do not accept says is passed over.
    private mutating func readFingerprint(_ value: Text) {
        hasFingerprint = true
        guard value.count <= SDPLimits.fingerprintLength else { return hasMalformedFingerprint = true }
        do throws(CertificateFingerprint.ParseError) {
            let fingerprint = try CertificateFingerprint(parsing: SDPText.string(value))
            if fingerprints.count < RemoteMedia.maximumFingerprintCount { fingerprints.append(fingerprint) }
        } catch {
            if error != .unsupportedHash { hasMalformedFingerprint = true }
        }
    }

    private mutating func readGroup(_ value: Text) {
        let words = SDPText.words(value, maxSplits: 1)
        guard words.count == 2, words[0].elementsEqual("BUNDLE".utf8), bundles.count < SDPLimits.bundleCount else {
            return
        }
        bundles.append(words[1])
    }

    private static func read(_ value: Text, into table: inout [Int: Text]) {
        let words = SDPText.words(value, maxSplits: 1)
        guard words.count == 2, let number = SDPText.number(words[0]), number <= 127, table[number] == nil else {
            return
        }
        table[number] = words[1]
    }

    /// RFC 5576 §4.1. The first source is the stream; a repair stream comes after it.
    private mutating func readSource(_ value: Text) {
        guard sourceLineCount < SDPLimits.sourceLineCount else { return }
        sourceLineCount += 1
        let words = SDPText.words(value, maxSplits: 1)
        guard let number = words.first.flatMap({ SDPText.number($0) }), let source = UInt32(exactly: number) else {
            return
        }
        ssrc = ssrc ?? SSRC(source)
        guard ssrc?.rawValue == source, cname == nil, words.count == 2, words[1].starts(with: "cname:".utf8) else {
            return
        }
        cname = SDPText.string(words[1].dropFirst(6), limit: SDPLimits.cnameLength)
    }
}
