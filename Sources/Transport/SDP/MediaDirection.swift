/// Which way media flows, as its author sees it. RFC 8866 §6.7.
package enum MediaDirection: String, Hashable, Sendable {
    case sendrecv
    case sendonly
    case recvonly
    case inactive

    /// What an answer may say at most when the offer says this. RFC 3264 §6.1.
    package var answered: MediaDirection {
        switch self {
        case .sendrecv, .inactive: self
        case .sendonly: .recvonly
        case .recvonly: .sendonly
        }
    }
}

/// The DTLS role an end takes or leaves open. RFC 4145 §4, RFC 8842 §5.2.
package enum DTLSSetup: String, Hashable, Sendable {
    case actpass
    case active
    case passive
}
