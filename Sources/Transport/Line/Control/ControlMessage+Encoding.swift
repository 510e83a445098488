extension ControlMessage {
    /// The message as one JSON object, `type` first. Absent fields are left out, except where the protocol says null.
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.field("type", type)
        switch self {
        case .hello(let hello): hello.write(to: &json)
        case .welcome(let welcome): welcome.write(to: &json)
        case .candidate(let candidate):
            if let attribute = candidate.candidate {
                json.field("candidate", attribute)
            } else {
                json.field("end_of_candidates", true)
            }
            json.field("ufrag", candidate.ufrag)
        case .dtls(let flights):
            json.field("datagrams", flights.datagrams)
            json.field("ufrag", flights.ufrag)
        case .select(let select):
            json.field("epoch", select.epoch)
            json.field("transport", select.transport)
            if let fallback = select.fallback {
                json.object("fallback") { json in
                    json.field("reason", fallback.reason)
                    json.field("stage", fallback.stage)
                    json.field("elapsed_ms", fallback.elapsedMilliseconds)
                    json.field("detail", fallback.detail)
                }
            } else {
                json.null("fallback")
            }
            json.field("heard_to", orNull: select.heardTo)
        case .selected(let selected):
            json.field("epoch", selected.epoch)
            json.field("heard", selected.heard)
        case .bridge(let bridge):
            json.field("on", bridge.on)
            json.field("epoch", bridge.epoch)
        case .restart(let restart), .restarted(let restart):
            json.field("ufrag", restart.ufrag)
            json.field("sdp", restart.sdp)
        case .restartNeeded, .check: break
        case .fallback(let fallback):
            json.field("word", fallback.word)
            json.field("detail", fallback.detail)
        case .flush(let flush):
            json.field("stream", flush.stream)
            json.field("before", orNull: flush.before)
        case .flushed(let flushed):
            if let stream = flushed.stream { json.field("stream", stream) }
            json.field("before", flushed.before)
            json.field("played_ms", flushed.playedMilliseconds)
        case .mark(let mark):
            json.field("id", mark.id)
            json.field("at", mark.at)
        case .marked(let marked):
            json.field("id", marked.id)
            json.field("played", marked.played)
        case .ack(let ack): json.field("received", ack.received)
        case .bye(let bye):
            json.field("by", bye.by)
            if let message = bye.message { json.field("message", message) }
        case .error(let error):
            json.field("code", error.code)
            json.field("message", error.message)
            if let seconds = error.retryAfterSeconds { json.field("retry_after_s", seconds) }
        }
        return json.finish()
    }
}

extension ControlMessage.Hello {
    fileprivate func write(to json: inout JSONWriter) {
        json.field("version", version)
        json.field("call_id", callID)
        if let resume {
            json.object("resume") { json in
                json.field("token", resume.token)
                json.field("received", resume.received)
                json.field("epoch", resume.epoch)
            }
            return
        }
        json.field("preference", preference)
        if prepare { json.field("prepare", true) }
        json.field("transports", transports)
        json.object("client") { json in
            json.field("sdk", client.sdk)
            json.field("version", client.version)
            json.field("app_version", client.appVersion)
            json.field("platform", client.platform)
        }
        if let audio { json.object("audio") { audio.write(to: &$0) } }
        if let livenessMilliseconds { json.field("liveness_ms", livenessMilliseconds) }
        if let webrtc { json.object("webrtc") { webrtc.write(to: &$0) } }
        if let application { json.field("application", .object(application)) }
    }
}

extension ControlMessage.Welcome {
    fileprivate func write(to json: inout JSONWriter) {
        json.field("version", version)
        json.field("session", session)
        if let resume { json.field("resume", resume) }
        json.field("call_audio", callAudio)
        if let audio { json.object("audio") { audio.write(to: &$0) } }
        if let livenessMilliseconds { json.field("liveness_ms", livenessMilliseconds) }
        if !iceServers.isEmpty {
            json.objects("ice_servers", iceServers) { json, server in
                json.field("urls", server.urls)
                if let username = server.username { json.field("username", username) }
                if let credential = server.credential { json.field("credential", credential) }
                if let seconds = server.ttlSeconds { json.field("ttl_s", seconds) }
            }
        }
        if let webrtc { json.object("webrtc") { webrtc.write(to: &$0) } }
        if let webrtcDeclined {
            json.object("webrtc_declined") { json in
                json.field("word", webrtcDeclined.word)
                json.field("detail", webrtcDeclined.detail)
            }
        }
        if let serverSPKI { json.field("server_spki", serverSPKI) }
        if let received { json.field("received", received) }
        if let epoch { json.field("epoch", epoch) }
        if let transport { json.field("transport", transport) }
        if let bridge {
            json.object("bridge") { json in
                json.field("client", bridge.client)
                json.field("server", bridge.server)
            }
        }
    }
}

extension ControlMessage.AudioDescription {
    fileprivate func write(to json: inout JSONWriter) {
        json.field("codecs", codecs)
        json.object("payload_types") { json in
            for (codec, number) in payloadTypes.sorted(by: { $0.key < $1.key }) { json.field(codec, number) }
        }
        json.field("ssrc", ssrc)
        json.field("ptime", ptime)
        json.field("red", red)
    }
}

extension ControlMessage.WebRTC {
    fileprivate func write(to json: inout JSONWriter) {
        json.field("sdp", sdp)
        if !dtls.isEmpty { json.field("dtls", dtls) }
    }
}

extension JSONWriter {
    fileprivate mutating func field(_ key: String, orNull value: UInt64?) {
        if let value { field(key, value) } else { null(key) }
    }
}
