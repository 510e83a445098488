extension CallResult {
    /// How far the call had come, for the end of "stopped while …"; the first thing that had not happened.
    var stage: String {
        if setup.active != nil { return "it was active" }
        if let transport { return "waiting until both ends hear each other (\(transport.rawValue))" }
        // The line may have brought the whole handshake before a check was answered.
        if setup.ice != nil {
            return setup.dtls == nil ? "in the DTLS handshake" : "waiting for the first audio of the media path"
        }
        if setup.firstCheck != nil { return "waiting for an answer to an ICE check" }
        if setup.welcome != nil { return "choosing the carriage" }
        if setup.hello != nil { return "waiting for the server's welcome" }
        if setup.tls != nil || setup.upgrade != nil { return "in the HTTP upgrade" }
        if setup.tcp != nil { return "in the TLS handshake" }
        return setup.dns == nil ? "looking up and connecting to the server" : "connecting to the server (TCP)"
    }

    /// Who ended an active call, and when.
    struct Ending: Equatable, Sendable {
        enum Party: String, CaseIterable, Sendable { case local, remote, failed }

        var by: Party
        /// Milliseconds since active.
        var afterMilliseconds: Double
    }
}
