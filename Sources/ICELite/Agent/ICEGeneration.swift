/// One generation of a lite agent's credentials (RFC 8445 §9): what requests are judged by, and what they nominated.
struct ICEGeneration: Hashable {
    /// Counts up with each restart.
    let number: UInt32
    let credentials: ICECredentials
    let localUfrag: [UInt8]
    let key: STUNKey
    /// nil while the peer's half is unknown.
    private(set) var remoteUfrag: [UInt8]?
    /// The peer's password as a key; nil while its half is unknown.
    private(set) var remoteKey: STUNKey?
    /// The highest NOMINATION so far; 0 when none came.
    var highestNomination: UInt32 = 0

    init(_ number: UInt32, credentials: ICECredentials, peerCredentials: ICECredentials?) {
        self.number = number
        self.credentials = credentials
        localUfrag = Array(credentials.ufrag.utf8)
        key = STUNKey(password: credentials.password)
        if let peerCredentials { setPeer(peerCredentials) }
    }

    mutating func setPeer(_ credentials: ICECredentials) {
        remoteUfrag = Array(credentials.ufrag.utf8)
        remoteKey = STUNKey(password: credentials.password)
    }
}
