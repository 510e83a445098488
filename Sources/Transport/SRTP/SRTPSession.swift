import CSRTP
package import TransportRuntime

/// SRTP and SRTCP of one call, both directions (RFC 3711, RFC 7714). One context each way for the whole call.
///
/// Packets are changed where they lie. A packet whose unprotect failed is never tried again: GCM has changed its bytes.
/// Does not allocate per packet (libsrtp2's own backend does).
package struct SRTPSession: ~Copyable {
    /// Packets that may come late and still be told from repeats. RFC 3711 §3.3.2 asks for 64; this is 10 s of audio.
    package static let replayWindow = 512
    /// SSRCs that are learned from authenticated packets, a call.
    package static let maximumLearnedSSRCs = 4
    /// SSRCs received, signalled and learned together.
    package static let maximumRemoteSSRCs = 8
    /// A step of the index that libsrtp2's own guess is not trusted with: its rollover counter is set for it. Half of
    /// what RFC 3711 §3.3.1 lets the guess reach.
    private static let longStep: Int64 = 16_384
    /// A fixed RTP header; also the least that RTCP and its SRTCP trailer are checked against.
    private static let rtpHeaderLength = 12
    private static let rtcpHeaderLength = 8

    /// The SSRC that we send with.
    package let localSSRC: UInt32
    /// The profile in use.
    package let profile: SRTPProfile
    /// Payload types whose RTP packets may teach us an SSRC; empty means any. Checked before any cryptography.
    package var learnablePayloadTypes: [UInt8] = []
    /// Counts since the session was made.
    package private(set) var statistics = SRTPStatistics()

    private let keys: SRTPKeys
    private let outbound: OpaquePointer
    private let inbound: OpaquePointer
    /// Knows the template only: packets of unknown SSRCs are tried here, on a copy.
    private let probe: OpaquePointer
    private let scratch: UnsafeMutableRawPointer
    /// A stream that we receive.
    private struct RemoteStream {
        let ssrc: UInt32
        /// Signalled, or heard with a payload type that may teach: its RTP is taken. Else only its reports are.
        var carriesRTP: Bool
        /// 48-bit index of the newest RTP packet that authenticated; -1 before the first.
        var newest: Int64 = -1
        /// The index about which its packets are numbered now, when the call line told so; -1 when none did.
        var expected: Int64 = -1
    }

    /// libsrtp2's contexts are for one thread at a time. `deinit` does not ask: it comes behind every use.
    private let owner = OwningThread()
    private var streams: [RemoteStream] = []
    /// 48-bit index of the newest packet protected; -1 before the first.
    private var sentIndex: Int64 = -1

    /// Sets libsrtp2 up, once a process, and keeps it so while there is no session. Built on NSS that takes some 50 ms: do it
    /// before a call waits for its keys.
    package static func prepareLibrary() { _ = srtp_shim_initialize() }

    /// Makes both contexts.
    ///
    /// - Parameter localSSRC: The one SSRC that RTP and RTCP are sent with.
    /// - Throws: `SRTPError.libsrtp` when libsrtp2 refuses, e.g. without memory.
    package init(keys: SRTPKeys, localSSRC: UInt32) throws(SRTPError) {
        let status = srtp_shim_initialize()
        guard status == 0 else { throw .libsrtp(status: status) }
        let contexts = [srtp_shim_create(), srtp_shim_create(), srtp_shim_create()].compactMap { $0 }
        var failure: Int32 = contexts.count == 3 ? 0 : Int32(srtp_err_status_alloc_fail.rawValue)
        if failure == 0 {
            failure = keys.withLocal { Self.add(to: contexts[0], keys.profile, ssrc: localSSRC, key: $0) }
        }
        if failure == 0 {
            failure = keys.withRemote { Self.add(to: contexts[2], keys.profile, ssrc: nil, key: $0) }
        }
        guard failure == 0 else {
            for context in contexts { srtp_dealloc(context) }
            throw .libsrtp(status: failure)
        }
        outbound = contexts[0]
        inbound = contexts[1]
        probe = contexts[2]
        scratch = .allocate(byteCount: PacketPool.packetCapacity, alignment: 16)
        self.keys = keys
        self.localSSRC = localSSRC
        profile = keys.profile
        streams.reserveCapacity(Self.maximumRemoteSSRCs)
    }

    deinit {
        // libsrtp2 wipes its session keys, SRTPKeys the master keys.
        srtp_dealloc(outbound)
        srtp_dealloc(inbound)
        srtp_dealloc(probe)
        scratch.deallocate()
    }

    // MARK: - Streams

    /// SSRCs that we receive, in the order they came to be known. Allocates.
    package var remoteSSRCs: [UInt32] { streams.map(\.ssrc) }

    /// Receives `ssrc`, which the signalling named.
    ///
    /// - Returns: Whether it is received now; false when there are too many already.
    @discardableResult
    package mutating func addRemoteSSRC(_ ssrc: UInt32) -> Bool { addStream(ssrc, carriesRTP: true) }

    /// Packets about number `index` of `ssrc` come next: its sequence number and the wraps before it, 48 bits. To be told
    /// of each packet that came by another carriage, so that a gap of more than 32,768 packets leaves the rollover counter
    /// known. Never goes back. A stream that is not received yet is from now on, if there is room: the line is the peer's.
    package mutating func advanceReceiver(of ssrc: UInt32, to index: UInt64) {
        guard index < 1 << 48, addStream(ssrc, carriesRTP: true), let position = streamIndex(ssrc),
            Int64(index) > max(streams[position].newest, streams[position].expected)
        else { return }
        streams[position].expected = Int64(index)
    }

    // MARK: - RTP

    /// Encrypts an RTP packet of `localSSRC` and adds its tag.
    ///
    /// - Parameter index: the packet's 48-bit number, its sequence number and the wraps before it. Needed when 32,768 or
    ///   more numbers have gone by unprotected, as they do while the line carries the audio; nil takes the number nearest
    ///   to the last one.
    /// - Returns: `.replay` unless the number is newer than every one before: a key must not meet a number twice.
    package mutating func protectRTP(_ packet: inout Packet, index: UInt64? = nil) -> SRTPResult {
        assertOwner()
        guard Self.rtpPayloadOffset(packet) != nil else { return drop(.malformed) }
        guard packet.capacity - packet.count >= profile.rtpTagLength else { return drop(.noRoom) }
        guard Self.word(packet, at: 8) == localSSRC else { return drop(.noStream) }
        let sequence = Self.sequence(packet)
        if let index, index >= 1 << 48 || UInt16(truncatingIfNeeded: index) != sequence { return drop(.malformed) }
        let number = index.map { Int64($0) } ?? Self.nearest(sequence, to: sentIndex)
        guard number > sentIndex else { return drop(.replay) }
        let isLong = number - max(sentIndex, 0) >= Self.longStep
        if isLong { _ = srtp_set_stream_roc(outbound, localSSRC, UInt32(truncatingIfNeeded: number >> 16)) }
        let length = srtp_shim_protect(outbound, packet.base, Int32(packet.count))
        // What libsrtp2 has not used up of it would hold the counter at the next wrap.
        if isLong { _ = srtp_set_stream_roc(outbound, localSSRC, 0) }
        guard length >= 0 else { return drop(Self.reason(of: length)) }
        packet.count = Int(length)
        statistics.protected &+= 1
        sentIndex = number
        return .ok
    }

    /// Verifies and decrypts an SRTP packet.
    package mutating func unprotectRTP(_ packet: inout Packet) -> SRTPResult {
        assertOwner()
        guard let offset = Self.rtpPayloadOffset(packet), packet.count - offset >= profile.rtpTagLength else {
            return drop(.malformed)
        }
        let ssrc = Self.word(packet, at: 8)
        var known = streamIndex(ssrc)
        if known.map({ !streams[$0].carriesRTP }) ?? true {
            let payloadType = packet.base.load(fromByteOffset: 1, as: UInt8.self) & 0x7F
            guard learnablePayloadTypes.isEmpty || learnablePayloadTypes.contains(payloadType) else {
                return drop(.noStream)
            }
            if known == nil {
                if let reason = learn(ssrc, from: packet, isRTCP: false) { return drop(reason) }
                known = streamIndex(ssrc)
            }
        }
        guard let position = known else { return drop(.noStream) }
        let stream = streams[position]
        let sequence = Self.sequence(packet)
        var number = Self.nearest(sequence, to: stream.newest)
        let isLong = stream.expected - max(stream.newest, 0) >= Self.longStep
        if isLong {
            number = max(0, Self.nearest(sequence, to: stream.expected))
            _ = srtp_set_stream_roc(inbound, ssrc, UInt32(truncatingIfNeeded: number >> 16))
        }
        let length = srtp_shim_unprotect(inbound, packet.base, Int32(packet.count))
        if isLong { _ = srtp_set_stream_roc(inbound, ssrc, 0) }
        let result = finish(length, &packet)
        if result == .ok {
            streams[position].carriesRTP = true
            streams[position].newest = max(stream.newest, number)
        }
        return result
    }

    // MARK: - RTCP

    /// Encrypts a compound RTCP packet of `localSSRC` and adds index and tag.
    package mutating func protectRTCP(_ packet: inout Packet) -> SRTPResult {
        assertOwner()
        guard packet.count >= Self.rtcpHeaderLength, Self.isVersion2(packet) else { return drop(.malformed) }
        guard packet.capacity - packet.count >= profile.rtcpTrailerLength else { return drop(.noRoom) }
        guard Self.word(packet, at: 4) == localSSRC else { return drop(.noStream) }
        let length = srtp_shim_protect_rtcp(outbound, packet.base, Int32(packet.count))
        guard length >= 0 else { return drop(Self.reason(of: length)) }
        packet.count = Int(length)
        statistics.protected &+= 1
        return .ok
    }

    /// Verifies and decrypts an SRTCP packet.
    package mutating func unprotectRTCP(_ packet: inout Packet) -> SRTPResult {
        assertOwner()
        guard packet.count >= Self.rtcpHeaderLength + profile.rtcpTrailerLength, Self.isVersion2(packet) else {
            return drop(.malformed)
        }
        let ssrc = Self.word(packet, at: 4)
        if streamIndex(ssrc) == nil, let reason = learn(ssrc, from: packet, isRTCP: true) { return drop(reason) }
        return finish(srtp_shim_unprotect_rtcp(inbound, packet.base, Int32(packet.count)), &packet)
    }

    // MARK: - Inside

    private func assertOwner() { assert(owner.isCurrent, "an SRTP session is used by the thread that made it") }

    private mutating func drop(_ reason: SRTPDropReason) -> SRTPResult {
        statistics.count(reason)
        return .dropped(reason)
    }

    private mutating func finish(_ length: Int32, _ packet: inout Packet) -> SRTPResult {
        guard length >= 0 else { return drop(Self.reason(of: length)) }
        packet.count = Int(length)
        statistics.unprotected &+= 1
        return .ok
    }

    /// Tries a packet of an unknown SSRC on a copy; if it authenticates, its SSRC is received from now on. Of a stream
    /// learned from a report (some peers report under a number of its own) only reports are taken until its RTP has a
    /// payload type that may teach.
    private mutating func learn(_ ssrc: UInt32, from packet: borrowing Packet, isRTCP: Bool) -> SRTPDropReason? {
        guard statistics.learnedSSRCs < Self.maximumLearnedSSRCs, streams.count < Self.maximumRemoteSSRCs,
            packet.count <= PacketPool.packetCapacity
        else { return .noStream }
        statistics.probes &+= 1
        scratch.copyMemory(from: packet.base, byteCount: packet.count)
        let count = Int32(packet.count)
        let length =
            isRTCP ? srtp_shim_unprotect_rtcp(probe, scratch, count) : srtp_shim_unprotect(probe, scratch, count)
        guard length >= 0 else { return Self.reason(of: length) }
        // The probe has made a stream of it, in network byte order for the library's call.
        _ = srtp_remove_stream(probe, ssrc.bigEndian)
        guard addStream(ssrc, carriesRTP: !isRTCP) else { return .libsrtp }
        statistics.learnedSSRCs += 1
        return nil
    }

    private func streamIndex(_ ssrc: UInt32) -> Int? {
        for index in streams.indices where streams[index].ssrc == ssrc { return index }
        return nil
    }

    private mutating func addStream(_ ssrc: UInt32, carriesRTP: Bool) -> Bool {
        assertOwner()
        if let known = streamIndex(ssrc) {
            if carriesRTP { streams[known].carriesRTP = true }
            return true
        }
        guard streams.count < Self.maximumRemoteSSRCs else { return false }
        let inbound = inbound
        let profile = profile
        guard keys.withRemote({ Self.add(to: inbound, profile, ssrc: ssrc, key: $0) }) == 0 else { return false }
        streams.append(RemoteStream(ssrc: ssrc, carriesRTP: carriesRTP))
        return true
    }

    /// The number nearest to `index` whose low 16 bits are `sequence`: RFC 3711 §3.3.1. Of the first packet (`index` is
    /// -1) the sequence number itself.
    private static func nearest(_ sequence: UInt16, to index: Int64) -> Int64 {
        guard index >= 0 else { return Int64(sequence) }
        return index + Int64(Int16(bitPattern: sequence &- UInt16(truncatingIfNeeded: index)))
    }

    private static func sequence(_ packet: borrowing Packet) -> UInt16 {
        packet.base.loadUnaligned(fromByteOffset: 2, as: UInt16.self).bigEndian
    }

    private static func add(
        to session: OpaquePointer, _ profile: SRTPProfile, ssrc: UInt32?, key: UnsafeRawBufferPointer
    ) -> Int32 {
        srtp_shim_add(
            session, UInt32(profile.rawValue), ssrc == nil ? 1 : 0, ssrc ?? 0,
            key.baseAddress?.assumingMemoryBound(to: UInt8.self), key.count, UInt(replayWindow))
    }

    private static func reason(of negativeStatus: Int32) -> SRTPDropReason {
        switch srtp_err_status_t(rawValue: UInt32(truncatingIfNeeded: -Int64(negativeStatus))) {
        case srtp_err_status_auth_fail, srtp_err_status_cipher_fail: .authentication
        case srtp_err_status_replay_fail: .replay
        case srtp_err_status_replay_old: .replayOld
        case srtp_err_status_no_ctx: .noStream
        case srtp_err_status_bad_param, srtp_err_status_parse_err: .malformed
        case srtp_err_status_key_expired: .keyExpired
        default: .libsrtp
        }
    }

    private static func isVersion2(_ packet: borrowing Packet) -> Bool {
        packet.count > 0 && packet.base.load(as: UInt8.self) >> 6 == 2
    }

    /// The big-endian word at `offset`, which the caller has checked to lie inside.
    private static func word(_ packet: borrowing Packet, at offset: Int) -> UInt32 {
        packet.base.loadUnaligned(fromByteOffset: offset, as: UInt32.self).bigEndian
    }

    /// Where the payload begins: behind header, CSRCs and extension (RFC 3550 §5.1). Nil when they do not fit.
    private static func rtpPayloadOffset(_ packet: borrowing Packet) -> Int? {
        guard packet.count >= rtpHeaderLength, isVersion2(packet) else { return nil }
        let first = packet.base.load(as: UInt8.self)
        var offset = rtpHeaderLength + 4 * Int(first & 0x0F)
        if first & 0x10 != 0 {
            guard packet.count >= offset + 4 else { return nil }
            offset += 4 + 4 * Int(packet.base.loadUnaligned(fromByteOffset: offset + 2, as: UInt16.self).bigEndian)
        }
        return offset <= packet.count ? offset : nil
    }
}
