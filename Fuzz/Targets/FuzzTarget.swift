internal import ICELite

/// What can be fuzzed: each takes any bytes and must neither trap nor find one of its properties broken.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// One datagram: the STUN parser, every accessor, and the writer's round trip.
    case stun = "fuzz-stun"
    /// A script for a full agent.
    case fullAgent = "fuzz-full-agent"
    /// A script for a lite agent.
    case liteAgent = "fuzz-lite-agent"
    /// One session description: read as an offer, answered, and read as an answer.
    case sdp = "fuzz-sdp"
    /// An RTP packet read, one of our own making, or a stream of headers counted.
    case rtp = "fuzz-rtp"
    /// A script for an RTCP reporter.
    case rtcp = "fuzz-rtcp"
    /// Datagrams for a media path, and packets for an SRTP session with known keys.
    case demux = "fuzz-demux"
    /// A script for both ends of a DTLS handshake and who stands between them.
    case dtls = "fuzz-dtls"

    /// Runs one input.
    ///
    /// - Throws: the property that it breaks.
    package func run(_ bytes: [UInt8]) throws(FuzzFinding) {
        switch self {
        case .stun: try STUNFuzz.run(bytes)
        case .fullAgent: try FullAgentFuzz.run(bytes)
        case .liteAgent: try LiteAgentFuzz.run(bytes)
        case .sdp: try SDPFuzz.run(bytes)
        case .rtp: try RTPFuzz.run(bytes)
        case .rtcp: try RTCPFuzz.run(bytes)
        case .demux: try DemuxFuzz.run(bytes)
        case .dtls: try DTLSFuzz.run(bytes)
        }
    }
}

/// A property that an input broke.
package struct FuzzFinding: Error, Equatable, Sendable {
    /// Which one, for the reader of the report.
    package var text: String
}

/// Throws unless `holds`.
func expect(_ holds: Bool, _ text: @autoclosure () -> String) throws(FuzzFinding) {
    if !holds { throw FuzzFinding(text: text()) }
}

/// Runs `body` on an empty span of `capacity` bytes and returns what it wrote; nothing if it throws.
func encoded(
    capacity: Int = 2_304, _ body: (inout OutputRawSpan) throws(STUNError) -> Void
) throws(STUNError) -> [UInt8] {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 8)
    defer { room.deallocate() }
    var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
    try body(&out)
    let count = unsafe out.finalize(for: room)
    return unsafe Array(room[..<count])
}
