/// One generation of a lite agent's credentials (RFC 8445 §9): what requests are judged by, and what they nominated.
struct ICEGeneration: Hashable {
    /// Counts up with each restart.
    let number: UInt32
    let credentials: ICECredentials
    let localUfrag: [UInt8]
    let key: STUNKey
    /// nil while the peer's half is unknown.
    var remoteUfrag: [UInt8]?
    /// The highest NOMINATION so far; 0 when none came.
    var highestNomination: UInt32 = 0

    init(_ number: UInt32, credentials: ICECredentials, peerCredentials: ICECredentials?) {
        self.number = number
        self.credentials = credentials
        localUfrag = Array(credentials.ufrag.utf8)
        key = STUNKey(password: credentials.password)
        remoteUfrag = peerCredentials.map { Array($0.ufrag.utf8) }
    }
}
