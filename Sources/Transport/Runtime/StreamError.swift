import Glibc

/// Why a byte stream did not open, or ended.
package enum StreamError: Error, Equatable, Sendable {
    /// The host name has no address.
    case resolve(ResolveError)
    /// No address could be connected to.
    case connect(ConnectError)
    /// TLS failed.
    case tls(TLSError)
    /// The deadline came in the middle of this.
    case timedOut(Stage)
    /// The connection broke: `ECONNRESET`, `ETIMEDOUT`, `EPIPE` …
    case broken(errno: Int32)
    /// The system has no socket left.
    case socket(SocketError)

    /// How far a stream had come.
    package enum Stage: String, Hashable, Sendable {
        case dns
        case tcp
        case tls
    }
}

extension StreamError: CustomStringConvertible {
    /// A sentence without its full stop.
    package var description: String {
        switch self {
        case .resolve(let error): "\(error)"
        case .connect(let error): "\(error)"
        case .tls(let error): "\(error)"
        case .timedOut(.dns): "looking up the server's address took too long"
        case .timedOut(.tcp): "connecting took too long"
        case .timedOut(.tls): "the server did not finish the TLS handshake in time"
        case .broken(let number): "the connection broke: \(System.message(number))"
        case .socket(let error): "\(error)"
        }
    }
}
