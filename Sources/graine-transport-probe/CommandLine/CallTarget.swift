internal import Foundation
internal import ICELite

/// Reads the TARGET argument: `wss://host[:port]/path`, `ws://` to a loopback literal, or a bare `host[:port]`.
enum CallTarget {
    /// The URL to dial. A bare host becomes `wss://host/`.
    ///
    /// - Throws: ``ProbeError/usage(_:)`` for another scheme, credentials in the URL, an empty host or a bad port.
    static func url(parsing text: String) throws(ProbeError) -> String {
        guard !text.isEmpty, !text.contains(where: { $0.isWhitespace || $0.isNewline || !$0.isASCII }) else {
            throw .usage("TARGET must be a URL without spaces: \(quoted(text))")
        }
        var url = text
        if let scheme = text.range(of: "://") {
            let word = text[..<scheme.lowerBound].lowercased()
            guard word == "wss" || word == "ws" else {
                throw .usage("TARGET must be wss://host[:port]/path, not \(word)://")
            }
        } else {
            url = "wss://" + text + (text.contains("/") ? "" : "/")
        }
        guard let host = host(of: url) else { throw .usage("TARGET has no usable host and port: \(quoted(text))") }
        if url.lowercased().hasPrefix("ws://"), !isLiteralLoopback(host) {
            throw .usage("ws:// is for 127.0.0.0/8 and [::1] only; use wss:// for \(host)")
        }
        return url
    }

    /// The host of `url`, without brackets, or nil when there is none or the authority is malformed.
    static func host(of url: String) -> String? {
        guard let scheme = url.range(of: "://") else { return nil }
        let authority = url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !authority.isEmpty, !authority.contains("@") else { return nil }
        if authority.first == "[" {
            guard let close = authority.firstIndex(of: "]") else { return nil }
            let host = String(authority[authority.index(after: authority.startIndex)..<close])
            guard IPAddress(host)?.family == .v6, isPort(authority[authority.index(after: close)...]) else {
                return nil
            }
            return host
        }
        let host = authority.prefix { $0 != ":" }
        guard !host.isEmpty, isPort(authority[host.endIndex...]) else { return nil }
        return String(host)
    }

    /// Whether `host` is an address of 127.0.0.0/8 or ::1, written as an address.
    static func isLiteralLoopback(_ host: String) -> Bool { IPAddress(host)?.isLoopback ?? false }

    /// Whether `text` is empty or `:` and a port from 1 to 65,535.
    private static func isPort(_ text: Substring) -> Bool {
        guard let first = text.first else { return true }
        let digits = text.dropFirst()
        guard first == ":", !digits.isEmpty, digits.allSatisfy({ ("0"..."9").contains($0) }) else { return false }
        return (UInt16(digits) ?? 0) > 0
    }

    private static func quoted(_ text: String) -> String { "\"\(text.prefix(80))\"" }
}
