import Glibc
package import ICELite

/// Why the system refused to do something with a socket.
package enum SocketError: Error, Equatable, Sendable {
    /// Another socket is bound to this address (`EADDRINUSE`).
    case addressInUse(SocketAddress)
    /// No interface of this machine has this address (`EADDRNOTAVAIL`).
    case addressNotAvailable(SocketAddress)
    /// The process or the system has no file descriptor left (`EMFILE`, `ENFILE`).
    case tooManyOpenFiles
    /// Everything else: which call failed, and its `errno`.
    case system(call: String, errno: Int32)

    /// The error that `errno` from `call`, made for `address`, means.
    init(call: String, errno number: Int32, address: SocketAddress? = nil) {
        switch (number, address) {
        case (EADDRINUSE, let address?): self = .addressInUse(address)
        case (EADDRNOTAVAIL, let address?): self = .addressNotAvailable(address)
        case (EMFILE, _), (ENFILE, _): self = .tooManyOpenFiles
        default: self = .system(call: call, errno: number)
        }
    }
}

extension SocketError: CustomStringConvertible {
    /// A sentence without its full stop.
    package var description: String {
        switch self {
        case .addressInUse(let address): "another program already uses \(address)"
        case .addressNotAvailable(let address): "this machine has no address \(address.ip)"
        case .tooManyOpenFiles: "too many open files"
        case .system(let call, let number): "\(call): \(System.message(number))"
        }
    }
}
