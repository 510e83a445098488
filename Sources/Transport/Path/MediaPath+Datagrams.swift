package import ICELite
package import TransportMedia
package import TransportRuntime

// What comes and what goes.

extension MediaPath {
    // MARK: In

    /// Takes the datagram `packet` that came on `path`.
    package mutating func handle(_ packet: inout Packet, path: NetworkPath, now: Instant) -> Verdict {
        guard !isClosed, packet.count > 0 else { return drop(\.malformed) }
        statistics.packetsReceived += 1
        statistics.bytesReceived += packet.count
        let verdict: Verdict
        switch DatagramKind(of: packet.bytes) {
        case .stun: verdict = handleCheck(packet, path: path, now: now)
        case .dtls: verdict = handleFlight(packet, path: path, now: now)
        // It moves nothing inside: there is nothing to pump.
        case .media: return handleMedia(&packet, path: path, now: now)
        case .other: return drop(\.malformed)
        }
        pump(now: now)
        return verdict
    }

    /// A send on `path` was refused, by this machine or by ICMP.
    package mutating func handleSendFailure(path: NetworkPath, failure: ICESendFailure, now: Instant) {
        full?.handleSendFailure(path: path, failure: failure, now: now)
        pump(now: now)
    }

    mutating func drop(_ counter: WritableKeyPath<MediaPathStatistics, Int>) -> Verdict {
        statistics[keyPath: counter] += 1
        return .dropped
    }

    private mutating func handleCheck(_ packet: borrowing Packet, path: NetworkPath, now: Instant) -> Verdict {
        if gathering.handle(packet.bytes, path: path, now: now) { return .consumed }
        let accepted: Bool
        if full != nil {
            accepted = full?.handle(packet.bytes, path: path, now: now) == .accepted
        } else {
            accepted = lite?.handle(packet.bytes, path: path, now: now) == .accepted
        }
        guard accepted else { return drop(\.checksDropped) }
        return .consumed
    }

    /// Whether handshake records and media are taken from `path`: only where a check was authenticated, or that we check.
    private mutating func isTrusted(_ path: NetworkPath) -> Bool {
        (full?.readHasPair(path) ?? false) || (lite?.readIsAuthenticated(path) ?? false)
    }

    private mutating func handleFlight(_ packet: borrowing Packet, path: NetworkPath, now: Instant) -> Verdict {
        // What came before the check waits at the endpoint's port, which knows no call of it yet.
        guard isTrusted(path), dtls != nil else { return drop(\.untrusted) }
        feed(packet.bytes, from: path, now: now)
        return .consumed
    }

    private mutating func handleMedia(_ packet: inout Packet, path: NetworkPath, now: Instant) -> Verdict {
        let isTrusted = isTrusted(path)
        // An address without a check can only be new to a call that has its keys.
        guard isTrusted || lite != nil && srtp != nil else { return drop(\.untrusted) }
        lite?.noteReceived(packet.count, on: path)
        guard srtp != nil, areKeysFinal else {
            let count = parkedMedia.count
            parkedMedia.removeAll { now - $0.at > Self.parkedFor }
            statistics.parkedOverflow += count - parkedMedia.count
            guard parkedMedia.count < Self.parkedMediaLimit else { return drop(\.parkedOverflow) }
            parkedMedia.append(Parked(path: path, bytes: packet.copiedBytes, at: now))
            return .consumed
        }
        return unprotect(&packet, path: path, isTrusted: isTrusted, now: now)
    }

    private mutating func unprotect(
        _ packet: inout Packet, path: NetworkPath, isTrusted: Bool, now: Instant
    ) -> Verdict {
        let isControl = isRTCP(packet.bytes)
        let result = isControl ? srtp?.unprotectRTCP(&packet) : srtp?.unprotectRTP(&packet)
        guard case .ok = result else { return drop(isTrusted ? \.unprotectFailed : \.untrusted) }
        if isTrusted {
            lastMedia = (path, now)
        } else {
            noteForeignMedia(from: path, now: now)
        }
        // The endpoint only watches: a peer that comes back is back.
        if lite != nil { evidence.isLost = false }
        return isControl ? .rtcp : .rtp
    }

    /// Media of this call came from an address without a check. It is taken, and moves nothing: the peer is asked to check.
    private mutating func noteForeignMedia(from path: NetworkPath, now: Instant) {
        statistics.foreignMedia += 1
        #if MUTANTS
        if Mutant.current == .mediaMovesThePath { lite?.moveWithoutCheck(to: path, now: now) }
        #endif
        if let checkWantedAt, now - checkWantedAt < Self.checkWantedInterval { return }
        checkWantedAt = now
        events.append(.checkWanted)
    }

    /// The SSRC of the sender of an SRTP or SRTCP packet, by which an endpoint finds the call of media from an address it
    /// does not know; nil for everything else. Does not allocate.
    package static func senderSSRC(of bytes: borrowing RawSpan) -> UInt32? {
        guard bytes.byteCount >= 12, case .media = DatagramKind(of: bytes) else { return nil }
        let offset = isRTCP(bytes) ? 4 : 8
        return UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// Whether `path` is a tuple of this call's whose media authenticated within `tupleKept`: no check for another call
    /// takes it.
    package func holds(_ path: NetworkPath, now: Instant) -> Bool {
        guard let lastMedia, !isClosed else { return false }
        return lastMedia.path == path && now - lastMedia.at < Self.tupleKept
    }

    /// The next packet that waited for the keys, in `packet`, what has become of it, and when it came; nil when there is
    /// none. It was counted as it came.
    package mutating func nextParkedMedia(
        into packet: inout Packet, now: Instant
    ) -> (verdict: Verdict, at: Instant)? {
        while srtp != nil, areKeysFinal, !parkedMedia.isEmpty {
            let parked = parkedMedia.removeFirst()
            guard now - parked.at <= Self.parkedFor else {
                statistics.parkedOverflow += 1
                continue
            }
            packet.assign(parked.bytes.span.bytes)
            let isTrusted = isTrusted(parked.path)
            return (unprotect(&packet, path: parked.path, isTrusted: isTrusted, now: parked.at), parked.at)
        }
        return nil
    }

    /// The first audio packet that authenticated and decodes was handed on.
    package mutating func mediaDecoded(now: Instant) {
        if evidence.firstMediaAt == nil { evidence.firstMediaAt = now }
    }

    // MARK: Out

    /// Where media may go: one path, or two while a move of the peer's waits for its confirmation.
    private var mediaDestinations: (first: NetworkPath, second: NetworkPath?)? {
        mutating get {
            if let selected = full?.selectedPath { return (selected, nil) }
            guard let destinations = lite?.readDestinations() else { return nil }
            return (destinations.first, destinations.second)
        }
    }

    /// Whether `byteCount` bytes of media or DTLS may go to `path`; a yes is charged. The client's pairs are all answered.
    mutating func authorize(_ byteCount: Int, to path: NetworkPath) -> Bool {
        guard lite != nil else { return true }
        return lite?.authorizeSend(byteCount: byteCount, to: path) ?? false
    }

    /// Whether media has anywhere to go.
    package var hasDestination: Bool {
        mutating get { isSecured && (areKeysFinal || options.earlyMedia) && mediaDestinations != nil }
    }

    /// Encrypts the RTP packet in place and says where it goes; a second destination's copy waits for `pollTransmit`. Nil,
    /// with the packet empty, when it must not be sent now.
    ///
    /// - Parameter index: the packet's 48-bit number, which also counts what went by the call line; nil takes the nearest.
    package mutating func sendRTP(_ packet: inout Packet, index: UInt64? = nil, now: Instant) -> Transmit? {
        guard let destinations = mediaDestinations, !isClosed, case .ok? = srtp?.protectRTP(&packet, index: index)
        else {
            packet.count = 0
            return nil
        }
        return address(&packet, to: destinations, now: now)
    }

    /// Encrypts the RTCP compound in place; else as `sendRTP`.
    package mutating func sendRTCP(_ packet: inout Packet, now: Instant) -> Transmit? {
        guard let destinations = mediaDestinations, !isClosed, case .ok? = srtp?.protectRTCP(&packet) else {
            packet.count = 0
            return nil
        }
        return address(&packet, to: destinations, now: now)
    }

    /// Encrypts the RTCP compound in place; a copy of it waits for `pollTransmit`, also after `close`.
    package mutating func sendLast(_ packet: inout Packet, now: Instant) {
        guard let transmit = sendRTCP(&packet, now: now) else { return }
        farewell = Parked(path: transmit.path, bytes: packet.copiedBytes, at: now)
    }

    /// A packet of `ssrc` with this 48-bit number came by the call line: the path's packets are numbered about there.
    package mutating func advanceReceiver(of ssrc: SSRC, to index: UInt64) {
        srtp?.advanceReceiver(of: ssrc.rawValue, to: index)
    }

    private mutating func address(
        _ packet: inout Packet, to destinations: (first: NetworkPath, second: NetworkPath?), now: Instant
    ) -> Transmit? {
        if let second = destinations.second {
            // Charged as it is polled.
            outbox.append(Parked(path: second, bytes: packet.copiedBytes, at: now))
        }
        guard authorize(packet.count, to: destinations.first) else {
            packet.count = 0
            return nil
        }
        statistics.packetsSent += 1
        if !areKeysFinal { statistics.shortcuts.earlyPacketsSent += 1 }
        statistics.bytesSent += packet.count
        return Transmit(path: destinations.first, byteCount: packet.count)
    }

    /// The next datagram that is not fresh media: a check, an answer, part of a handshake flight, the copy of a packet.
    ///
    /// Asked before media is sent: consent that is over by `now` ends here, whatever woke the owner (RFC 7675 §5.1).
    package mutating func pollTransmit(into out: inout OutputRawSpan, now: Instant) -> Transmit? {
        if !isClosed {
            if now >= full?.readConsentEnd() ?? lite?.readConsentEnd() ?? .never { handleTimeout(now: now) }
            let transmit =
                full?.pollTransmit(into: &out, now: now) ?? lite?.pollTransmit(into: &out, now: now)
                ?? (gathering.isFinished ? nil : gathering.pollTransmit(into: &out, now: now))
            if let transmit {
                pump(now: now)
                return transmit
            }
        }
        if let farewell {
            self.farewell = nil
            guard farewell.bytes.count <= out.freeCapacity else { return nil }
            for byte in farewell.bytes { out.append(byte, as: UInt8.self) }
            return Transmit(path: farewell.path, byteCount: farewell.bytes.count)
        }
        while !outbox.isEmpty {
            let next = outbox.removeFirst()
            guard next.bytes.count <= out.freeCapacity, authorize(next.bytes.count, to: next.path) else { continue }
            for byte in next.bytes { out.append(byte, as: UInt8.self) }
            if DatagramKind(of: next.bytes.span.bytes) == .dtls { noteFlightSent(to: next.path) }
            return Transmit(path: next.path, byteCount: next.bytes.count)
        }
        return nil
    }
}
