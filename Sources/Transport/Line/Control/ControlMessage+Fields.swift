// How each message's fields are read.

extension ControlMessage.AudioDescription: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        codecs = try fields.words("codecs")
        guard !codecs.isEmpty else { throw fields.invalid("codecs") }
        payloadTypes = try fields.value("payload_types")
        // RFC 5761 §4: 64…95 would be taken for RTCP.
        guard payloadTypes.count <= ControlMessage.maximumListCount,
            payloadTypes.values.allSatisfy({ $0 <= 127 && !(64...95).contains($0) })
        else {
            throw fields.invalid("payload_types")
        }
        ssrc = try fields.value("ssrc")
        ptime = fields.has("ptime") ? try fields.number("ptime", in: 1...120) : 20
        red = try fields.optional("red") ?? []
        guard red.count <= ControlMessage.maximumListCount, red.allSatisfy({ (1...255).contains($0) }) else {
            throw fields.invalid("red")
        }
    }
}

extension ControlMessage.ClientDescription: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        self.init(
            sdk: try fields.optionalWord("sdk") ?? "", version: try fields.optionalWord("version") ?? "",
            appVersion: try fields.optionalWord("app_version") ?? "",
            platform: try fields.optionalWord("platform") ?? "")
    }
}

extension ControlMessage.WebRTC: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        sdp = try fields.word("sdp", ControlMessage.maximumSDPBytes)
        dtls = fields.has("dtls") ? try fields.datagrams("dtls", ControlMessage.maximumFirstDatagrams) : []
    }
}

extension ControlMessage.Resume: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        token = try fields.word("token")
        received = try fields.value("received")
        epoch = try fields.value("epoch")
    }
}

extension ControlMessage.Hello: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        self.init(version: try fields.value("version"), callID: try fields.word("call_id"))
        guard !callID.isEmpty else { throw fields.invalid("call_id") }
        resume = try fields.optional("resume")
        if resume != nil { return }
        preference = try fields.word("preference")
        prepare = try fields.optional("prepare") ?? false
        transports = try fields.words("transports")
        client = try fields.optional("client") ?? client
        audio = try fields.value("audio", ControlMessage.AudioDescription.self)
        livenessMilliseconds = try fields.optional("liveness_ms")
        webrtc = try fields.optional("webrtc")
        application = try fields.optional("application")
    }
}

extension ControlMessage.ICEServer: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        urls = try fields.words("urls")
        username = try fields.optionalWord("username")
        credential = try fields.optionalWord("credential")
        ttlSeconds = try fields.optional("ttl_s")
    }
}

extension ControlMessage.Declined: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        word = try fields.word("word")
        detail = try fields.detail("detail")
    }
}

extension ControlMessage.BridgeState: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        client = try fields.value("client")
        server = try fields.value("server")
    }
}

extension ControlMessage.Welcome: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        self.init(version: try fields.value("version"), session: try fields.word("session"))
        resume = try fields.optionalWord("resume")
        received = try fields.optional("received")
        epoch = try fields.optional("epoch")
        transport = try fields.optionalWord("transport")
        bridge = try fields.optional("bridge")
        callAudio = try fields.optionalWord("call_audio") ?? callAudio
        audio = try fields.optional("audio")
        // A resuming welcome counts frames; every other describes its audio.
        guard audio != nil || received != nil else { throw fields.missing("audio") }
        livenessMilliseconds = try fields.optional("liveness_ms")
        iceServers = try fields.optional("ice_servers") ?? []
        guard iceServers.count <= ControlMessage.maximumICEServers else { throw fields.invalid("ice_servers") }
        webrtc = try fields.optional("webrtc")
        webrtcDeclined = try fields.optional("webrtc_declined")
        serverSPKI = fields.has("server_spki") ? try fields.words("server_spki") : nil
    }
}

extension ControlMessage.Candidate: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        ufrag = try fields.word("ufrag")
        candidate = try fields.optionalWord("candidate")
        if candidate == nil, try fields.optional("end_of_candidates", Bool.self) != true {
            throw fields.missing("candidate")
        }
    }
}

extension ControlMessage.DTLSFlights: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        datagrams = try fields.datagrams("datagrams", ControlMessage.maximumDatagrams)
        ufrag = try fields.word("ufrag")
    }
}

extension ControlMessage.FallbackReport: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        reason = try fields.word("reason")
        stage = try fields.optionalWord("stage") ?? ""
        elapsedMilliseconds = try fields.optional("elapsed_ms") ?? 0
        detail = try fields.detail("detail")
    }
}

extension ControlMessage.Select: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        epoch = try fields.value("epoch")
        transport = try fields.word("transport")
        fallback = try fields.optional("fallback")
        heardTo = try fields.optional("heard_to")
    }
}

extension ControlMessage.Selected: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        epoch = try fields.value("epoch")
        heard = try fields.value("heard")
    }
}

extension ControlMessage.Bridge: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        on = try fields.value("on")
        epoch = try fields.value("epoch")
    }
}

extension ControlMessage.Restart: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        ufrag = try fields.word("ufrag")
        sdp = try fields.word("sdp", ControlMessage.maximumSDPBytes)
    }
}

extension ControlMessage.Fallback: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        word = try fields.word("word")
        detail = try fields.detail("detail")
    }
}

extension ControlMessage.Flush: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        stream = try fields.word("stream")
        before = try fields.optional("before")
    }
}

extension ControlMessage.Flushed: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        stream = try fields.optionalWord("stream")
        before = try fields.value("before")
        playedMilliseconds = try fields.value("played_ms")
    }
}

extension ControlMessage.Mark: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        id = try fields.word("id")
        at = try fields.value("at")
    }
}

extension ControlMessage.Marked: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        id = try fields.word("id")
        played = try fields.value("played")
    }
}

extension ControlMessage.Ack: Decodable {
    package init(from decoder: any Decoder) throws { received = try MessageReader(decoder).value("received") }
}

extension ControlMessage.Bye: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        by = try fields.word("by")
        message = fields.has("message") ? try fields.detail("message") : nil
    }
}

extension ControlMessage.LineError: Decodable {
    package init(from decoder: any Decoder) throws {
        let fields = try MessageReader(decoder)
        code = try fields.word("code")
        message = try fields.detail("message")
        retryAfterSeconds = try fields.optional("retry_after_s")
    }
}
