package import ICELite

// The HTTP upgrade, both ends (RFC 6455 §4).
extension LineConnection {
    /// Server: opens the line whose request was reported. Without one, does nothing.
    package mutating func accept(now: Instant) {
        guard case .deciding(let request) = phase else { return }
        clock = now
        outbound.append(UpgradeResponse.accept(webSocketKey: request.webSocketKey))
        open()
    }

    /// Server: refuses the request that was reported with status, `Retry-After` and a JSON body; `.refused` follows as
    /// the last event. Without a request, does nothing.
    ///
    /// A key that came as a subprotocol came from a page, which is shown no status of a refused upgrade: it is told by an
    /// upgrade that is granted and closed at once, with 4401, and `.closed` follows as the last event. Nothing that the
    /// client sent behind its request is delivered.
    package mutating func refuse(_ refusal: LineRefusal, now: Instant) {
        guard case .deciding(let request) = phase else { return }
        clock = now
        if refusal.code == .invalidKey, request.keyFromSubprotocol {
            outbound.append(UpgradeResponse.accept(webSocketKey: request.webSocketKey))
            beginFrames()
            let code = LineErrorCode.invalidKey.rawValue
            sendText(ControlMessage.error(ControlMessage.LineError(code: code, message: refusal.message)).encoded())
            return close(code: .invalidKey, reason: code, now: now)
        }
        outbound.append(UpgradeResponse.refuse(refusal))
        end(.refused(refusal))
    }

    mutating func readHead() {
        let parsed: (head: HTTPHead, byteCount: Int)
        do throws(HTTPError) {
            guard let whole = try HTTPHead.parse(head, searched: &headSearched) else { return }
            parsed = whole
        } catch {
            switch role {
            case .client:
                end(.refused(LineRefusal(code: .refused, message: "The server's answer is no HTTP: \(error).")))
            case .server:
                refuseMalformed(LineRefusal(status: 400, message: "The upgrade request is malformed: \(error)."))
            }
            return
        }
        head.consume(parsed.byteCount)
        headSearched = 0
        switch role {
        case .client: readResponse(parsed.head)
        case .server:
            do throws(LineRefusal) {
                let request = try UpgradeRequest(parsing: parsed.head)
                phase = .deciding(request)
                pending.append(.upgradeRequested(request))
            } catch {
                refuseMalformed(error)
            }
        }
    }

    mutating func readBody(_ status: Int, _ response: HTTPHead, _ length: UpgradeResponse.BodyLength) {
        switch length {
        case .none: refuse(status: status, head: response, bodyCount: 0)
        case .bytes(let count): if head.count >= count { refuse(status: status, head: response, bodyCount: count) }
        case .untilEnd:
            if head.count >= LineLimits.maximumBodyBytes { refuse(status: status, head: response, bodyCount: 0) }
        }
    }

    /// Ends the client's try with the refusal that `response` and the first `bodyCount` bytes of its body state.
    mutating func refuse(status: Int, head response: HTTPHead, bodyCount: Int) {
        let body = head.bytes(in: 0..<min(bodyCount, head.count)).withUnsafeBytes { Array($0) }
        end(.refused(UpgradeResponse.refusal(status: status, head: response, body: body)))
    }

    private mutating func readResponse(_ response: HTTPHead) {
        guard let status = UpgradeResponse.status(of: response) else {
            end(.refused(LineRefusal(code: .refused, message: "The server's answer is no HTTP/1.1 response.")))
            return
        }
        guard status == 101 else {
            // 1xx other than 101 announces a response that is still to come (RFC 9110 §15.2).
            if (100...199).contains(status) { return }
            closeDeadline = clock + LineLimits.closeTimeout
            phase = .readingRefusal(status: status, head: response, length: UpgradeResponse.bodyLength(of: response))
            return
        }
        do throws(LineRefusal) {
            try UpgradeResponse.validate(response, webSocketKey: webSocketKey)
            open()
        } catch {
            end(.refused(error))
        }
    }

    private mutating func refuseMalformed(_ refusal: LineRefusal) {
        outbound.append(UpgradeResponse.refuse(refusal))
        end(.refused(refusal))
    }

    private mutating func open() {
        beginFrames()
        pending.append(.opened)
    }

    private mutating func beginFrames() {
        phase = .open
        silentSince = clock
        suspectSince = clock
        // Bytes behind the head are the first frames (RFC 6455 §4.1).
        reader.append(contentsOf: head)
        head.removeAll(shrinkingTo: 64)
    }
}
