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
    /// A fixed RTP header; also the least that RTCP and its SRTCP trailer are checked against.
    private static let rtpHeaderLength = 12
    private static let rtcpHeaderLength = 8

    /// The SSRC that we send with.
    package let localSSRC: UInt32
    /// The profile in use.
    package let profile: SRTPProfile
    /// SSRCs that we receive, in the order they came to be known.
    package private(set) var remoteSSRCs: [UInt32] = []
    /// Payload types whose packets may teach us an SSRC; empty means any. Checked before any cryptography.
    package var learnablePayloadTypes: [UInt8] = []
    /// Counts since the session was made.
    package private(set) var statistics = SRTPStatistics()

    private let keys: SRTPKeys
    private let outbound: OpaquePointer
    private let inbound: OpaquePointer
    /// Knows the template only: packets of unknown SSRCs are tried here, on a copy.
    private let probe: OpaquePointer
    private let scratch: UnsafeMutableRawPointer
    /// 48-bit index of the newest packet protected, -1 before the first.
    private var sentIndex: Int64 = -1
    private var rolloverToSend: UInt32 = 0

    /// Sets libsrtp2 up, once a process. Built on NSS that takes some 50 ms: do it before a call waits for its keys.
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
        remoteSSRCs.reserveCapacity(Self.maximumRemoteSSRCs)
    }

    deinit {
        // libsrtp2 wipes its session keys, SRTPKeys the master keys.
        srtp_dealloc(outbound)
        srtp_dealloc(inbound)
        srtp_dealloc(probe)
        scratch.deallocate()
    }

    // MARK: - Streams

    /// Receives `ssrc`, which the signalling named.
    ///
    /// - Returns: Whether it is received now; false when there are too many already.
    @discardableResult
    package mutating func addRemoteSSRC(_ ssrc: UInt32) -> Bool {
        if remoteSSRCs.contains(ssrc) { return true }
        guard remoteSSRCs.count < Self.maximumRemoteSSRCs else { return false }
        let inbound = inbound
        let profile = profile
        guard keys.withRemote({ Self.add(to: inbound, profile, ssrc: ssrc, key: $0) }) == 0 else { return false }
        remoteSSRCs.append(ssrc)
        return true
    }

    /// Tells the sender that the next packet is number `index` of the stream (sequence number and the wraps before it,
    /// 48 bits). Needed when more than 32,768 packets went by unprotected, as they do while the line carries the audio.
    /// Never goes back: an index that is not newer changes nothing, for a key must not meet an index twice.
    package mutating func advanceSender(to index: UInt64) {
        let rollover = UInt32(truncatingIfNeeded: index >> 16)
        guard index < 1 << 48, Int64(index) > sentIndex, rollover > rolloverToSend else { return }
        if srtp_set_stream_roc(outbound, localSSRC, rollover) == srtp_err_status_ok { rolloverToSend = rollover }
    }

    /// Tells the receiver that packets about `index` (48 bits) of `ssrc` come next. Never goes back.
    package mutating func advanceReceiver(of ssrc: UInt32, to index: UInt64) {
        var current: UInt32 = 0
        guard index < 1 << 48, remoteSSRCs.contains(ssrc),
            srtp_get_stream_roc(inbound, ssrc, &current) == srtp_err_status_ok,
            UInt32(index >> 16) > current
        else { return }
        _ = srtp_set_stream_roc(inbound, ssrc, UInt32(index >> 16))
    }

    // MARK: - RTP

    /// Encrypts an RTP packet of `localSSRC` and adds its tag. A sequence number already protected is refused as `.replay`.
    package mutating func protectRTP(_ packet: inout Packet) -> SRTPResult {
        guard Self.rtpPayloadOffset(packet) != nil else { return drop(.malformed) }
        guard packet.capacity - packet.count >= profile.rtpTagLength else { return drop(.noRoom) }
        guard Self.word(packet, at: 8) == localSSRC else { return drop(.noStream) }
        let sequence = Int64(packet.base.loadUnaligned(fromByteOffset: 2, as: UInt16.self).bigEndian)
        let length = srtp_shim_protect(outbound, packet.base, Int32(packet.count))
        guard length >= 0 else { return drop(Self.reason(of: length)) }
        packet.count = Int(length)
        statistics.protected &+= 1
        noteSent(sequence)
        return .ok
    }

    /// Verifies and decrypts an SRTP packet.
    package mutating func unprotectRTP(_ packet: inout Packet) -> SRTPResult {
        guard let offset = Self.rtpPayloadOffset(packet), packet.count - offset >= profile.rtpTagLength else {
            return drop(.malformed)
        }
        let ssrc = Self.word(packet, at: 8)
        if !remoteSSRCs.contains(ssrc) {
            let payloadType = packet.base.load(fromByteOffset: 1, as: UInt8.self) & 0x7F
            guard learnablePayloadTypes.isEmpty || learnablePayloadTypes.contains(payloadType) else {
                return drop(.noStream)
            }
            if let reason = learn(ssrc, from: packet, isRTCP: false) { return drop(reason) }
        }
        return finish(srtp_shim_unprotect(inbound, packet.base, Int32(packet.count)), &packet)
    }

    // MARK: - RTCP

    /// Encrypts a compound RTCP packet of `localSSRC` and adds index and tag.
    package mutating func protectRTCP(_ packet: inout Packet) -> SRTPResult {
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
        guard packet.count >= Self.rtcpHeaderLength + profile.rtcpTrailerLength, Self.isVersion2(packet) else {
            return drop(.malformed)
        }
        let ssrc = Self.word(packet, at: 4)
        if !remoteSSRCs.contains(ssrc), let reason = learn(ssrc, from: packet, isRTCP: true) { return drop(reason) }
        return finish(srtp_shim_unprotect_rtcp(inbound, packet.base, Int32(packet.count)), &packet)
    }

    // MARK: - Inside

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

    /// Tries a packet of an unknown SSRC on a copy; if it authenticates, its SSRC is received from now on.
    private mutating func learn(_ ssrc: UInt32, from packet: borrowing Packet, isRTCP: Bool) -> SRTPDropReason? {
        guard statistics.learnedSSRCs < Self.maximumLearnedSSRCs, remoteSSRCs.count < Self.maximumRemoteSSRCs,
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
        guard addRemoteSSRC(ssrc) else { return .libsrtp }
        statistics.learnedSSRCs += 1
        return nil
    }

    private mutating func noteSent(_ sequence: Int64) {
        let base = max(sentIndex, 0)
        var index = (max(base >> 16, Int64(rolloverToSend)) << 16) | sequence
        if index - base < -32_768 {
            index += 65_536
        } else if index - base > 32_768, index >> 16 > Int64(rolloverToSend) {
            index -= 65_536
        }
        if index > sentIndex { sentIndex = index }
        rolloverToSend = max(rolloverToSend, UInt32(truncatingIfNeeded: sentIndex >> 16))
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
