/// A Binding response that waits to be sent, without its bytes.
struct ICEResponse {
    /// The request's, the other way round: answers leave from the address the request came to.
    var path: NetworkPath
    var transactionID: STUNTransactionID
    /// nil: success.
    var error: STUNErrorCode?
    var integrity: STUNIntegrity
    var unknown = STUNUnknownAttributes()
    /// Our token for the tuple, when the peer has not echoed it yet.
    var token: UInt64?

    /// Writes the response; success carries XOR-MAPPED-ADDRESS with the request's source (RFC 8445 §7.3.1.2).
    func encode(key: STUNKey, into out: inout OutputRawSpan) throws(STUNError) {
        let writer = try STUNWriter(error == nil ? .success : .error, transactionID: transactionID, into: &out)
        if let error {
            try writer.append(error: error, into: &out)
            if error == .unknownAttribute { try writer.append(unknown: unknown, into: &out) }
        } else {
            try writer.append(address: path.remote, into: &out)
            if let token { try writer.append(.routabilityToken, token, into: &out) }
        }
        try writer.append(integrity, key: key, into: &out)
        try writer.appendFingerprint(into: &out)
    }
}

/// The checks every agent makes of a Binding request (RFC 8489 §9.1.3, §6.3.1; RFC 8445 §7.3).
///
/// Our own half of USERNAME decides, and its password: the peer's may be unknown yet, adds no proof, and in a restart a
/// browser checks its new socket with our old ufrag and its own new one, perhaps before its offer is here.
struct ICERequestCheck {
    enum Result {
        case authentic(priority: UInt32)
        /// Refused with `error`; signed only when the request was authentic.
        case refused(STUNErrorCode, STUNIntegrity, ICEDropReason)
    }

    var localUfrag: [UInt8]
    var key: STUNKey

    func callAsFunction(_ message: borrowing STUNMessage) -> Result {
        guard message.hasUsername, message.hasIntegrity else { return .refused(.badRequest, .none, .badRequest) }
        guard message.isAddressed(to: localUfrag, from: nil), message.verifies(with: key) else {
            return .refused(.unauthenticated, .none, .unauthenticated)
        }
        let integrity = message.integrity
        guard message.unknown.isEmpty else { return .refused(.unknownAttribute, integrity, .unknownAttribute) }
        guard let priority = message.priority else { return .refused(.badRequest, integrity, .badRequest) }
        return .authentic(priority: priority)
    }
}

extension NetworkPath {
    /// The path with IPv4-mapped addresses taken as IPv4, as a dual-stack socket may report them (RFC 8445 §5.1.1.1).
    var unmapped: NetworkPath {
        NetworkPath(
            local: SocketAddress(ip: local.ip.unmapped, port: local.port),
            remote: SocketAddress(ip: remote.ip.unmapped, port: remote.port))
    }
}
