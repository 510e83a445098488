import Glibc
package import ICELite

/// Why a host name has no address.
package enum ResolveError: Error, Equatable, Sendable {
    /// There is no such host, or it has no address.
    case notFound(host: String)
    /// It has addresses, none of the only version of IP that may be used.
    case noAddress(host: String, family: IPAddress.Family)
    /// The resolver did not answer, or cannot now.
    case temporary(host: String, detail: String)
    /// The deadline came first.
    case timedOut(host: String)
    /// `Resolver.concurrentLimit` lookups are under way, most of them abandoned.
    case busy
    /// Any other answer of the system's resolver.
    case failed(host: String, detail: String)
}

extension ResolveError: CustomStringConvertible {
    /// A sentence without its full stop.
    package var description: String {
        switch self {
        case .notFound(let host): "there is no host called \(host)"
        case .noAddress(let host, let family): "\(host) has no IP\(family) address"
        case .temporary(let host, let detail): "the address of \(host) could not be looked up: \(detail)"
        case .timedOut(let host): "looking up the address of \(host) took too long"
        case .busy: "too many address lookups are under way"
        case .failed(let host, let detail): "the address of \(host) could not be looked up: \(detail)"
        }
    }
}
