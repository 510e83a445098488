package import ICELite

extension ClientCall {
    /// The call as it stands, for the application.
    func snapshot(startedAt: Instant, now: Instant) -> TransportSnapshot {
        var snapshot = TransportSnapshot()
        snapshot.state = state
        snapshot.transport = transport
        snapshot.fallback = fallback
        snapshot.refusal = refusal
        snapshot.lineClose = lineClose
        let since = { (instant: Instant?) in instant.map { Duration(nanoseconds: $0 - startedAt) } }
        snapshot.setup.resolved = since(timings.resolved)
        snapshot.setup.connected = since(timings.connected)
        snapshot.setup.secured = since(timings.tlsDone)
        snapshot.setup.upgraded = since(timings.upgraded)
        snapshot.setup.hello = since(timings.hello)
        snapshot.setup.welcome = since(timings.welcome)
        snapshot.setup.firstCheck = since(timings.firstCheck)
        snapshot.setup.firstAnswer = since(timings.firstAnswer)
        snapshot.setup.keys = since(timings.secured)
        snapshot.setup.firstAudio = since(timings.firstAudio)
        snapshot.setup.active = since(timings.active)
        snapshot.path = carriages.pathSnapshot
        snapshot.audio = carriages.audioSnapshot
        snapshot.recovery = carriages.recovery?.snapshot(now: now) ?? RecoverySnapshot()
        return snapshot
    }

    /// The line's next bytes, at most `limit` of them; empty when nothing waits.
    package mutating func lineOutput(atMost limit: Int) -> [UInt8] { carriages.lineOutput(atMost: limit) }

    /// Takes back the audio at the end of the last output; see `LineConnection.withdrawAudio`.
    package mutating func withdrawLineAudio(unwritten: Int) -> Int {
        carriages.line?.withdrawAudio(unwritten: unwritten) ?? 0
    }
}

extension ClientCall {
    /// The epoch of the choice in force; 0 before the first.
    package var epoch: Int { policy.epoch }
}

extension ServerCall {
    /// The highest epoch that was obeyed; 0 before the first.
    package var epoch: Int { policy.epoch }

    /// The line's next bytes, at most `limit` of them; empty when nothing waits.
    package mutating func lineOutput(atMost limit: Int) -> [UInt8] { carriages.lineOutput(atMost: limit) }

    /// Takes back the audio at the end of the last output; see `LineConnection.withdrawAudio`.
    package mutating func withdrawLineAudio(unwritten: Int) -> Int {
        carriages.line?.withdrawAudio(unwritten: unwritten) ?? 0
    }
}

extension Carriages {
    mutating func lineOutput(atMost limit: Int) -> [UInt8] {
        guard hasLineOutput else { return [] }
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: limit, alignment: 16)
        defer { room.deallocate() }
        var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        _ = line?.writeOutput(into: &out)
        let count = unsafe out.finalize(for: room)
        return Array(room[..<count])
    }

    var pathSnapshot: MediaPathSnapshot? {
        if let lastPathSnapshot { return lastPathSnapshot }
        switch path {
        case .none: return nil
        case .some(let path):
            var snapshot = MediaPathSnapshot()
            snapshot.localAddress = path.selectedPath?.local
            snapshot.remoteAddress = path.selectedPath?.remote
            snapshot.reflexiveAddresses = path.reflexiveAddresses
            snapshot.checksSent = path.evidence.checksSent
            snapshot.roundTrip = path.evidence.roundTrip.map { Duration(nanoseconds: $0) }
            let counters = path.statistics
            snapshot.packetsSent = counters.packetsSent
            snapshot.packetsReceived = counters.packetsReceived
            snapshot.bytesSent = counters.bytesSent
            snapshot.bytesReceived = counters.bytesReceived
            snapshot.shortcuts = counters.shortcuts
            snapshot.srtpProfile = counters.srtpProfile.map(\.opensslName)
            if let dtls = path.dtlsStatistics {
                snapshot.dtlsVersion = dtls.version.isEmpty ? nil : dtls.version
                snapshot.dtlsCipher = dtls.cipher.isEmpty ? nil : dtls.cipher
                if snapshot.dtlsVersion != nil { snapshot.dtlsRole = path.isHandshakeServer ? "server" : "client" }
                snapshot.dtlsRetransmissions = dtls.retransmits
            }
            return snapshot
        }
    }

    var audioSnapshot: AudioSnapshot {
        var snapshot = AudioSnapshot()
        let inbound = media.inbound
        snapshot.packetsSent = media.outbound.packetsSent
        snapshot.packetsReceivedOnPath = inbound.packetsReceivedOnPath
        snapshot.packetsReceivedOnLine = inbound.packetsReceivedOnLine
        snapshot.packetsReceived = inbound.packetsReceivedOnPath + inbound.packetsReceivedOnLine
        snapshot.packetsLost = inbound.packetsLost
        snapshot.packetsDiscarded = inbound.buffer.packetsDiscarded
        snapshot.duplicates = inbound.buffer.duplicates
        snapshot.jitter = inbound.jitter
        snapshot.totalSamplesReceived = inbound.buffer.totalSamplesReceived
        snapshot.concealedSamples = inbound.buffer.concealedSamples
        snapshot.silentConcealedSamples = inbound.buffer.silentConcealedSamples
        snapshot.concealmentEvents = inbound.buffer.concealmentEvents
        snapshot.playoutDelay = inbound.buffer.playoutDelay
        return snapshot
    }
}

extension ServerCall {
    /// The call as it stands, for the agent.
    func snapshot(startedAt: Instant, now: Instant) -> TransportSnapshot {
        var snapshot = TransportSnapshot()
        snapshot.state = state
        snapshot.transport = transport
        snapshot.fallback = fallback
        snapshot.path = carriages.pathSnapshot
        snapshot.audio = carriages.audioSnapshot
        snapshot.recovery = carriages.recovery?.snapshot(now: now) ?? RecoverySnapshot()
        return snapshot
    }

    /// When the first audio of the client's came that authenticates and decodes, on either carriage.
    package var firstHeardAt: Instant? { policy.firstHeardAt }

    /// Whether a check has authenticated on `path`.
    package func isAuthenticated(_ path: NetworkPath) -> Bool { carriages.isAuthenticated(path) }
}

extension Carriages {
    func isAuthenticated(_ networkPath: NetworkPath) -> Bool {
        switch path {
        case .some(let path): path.isAuthenticated(networkPath)
        case .none: false
        }
    }
}
