package import ICELite

extension FixedDelayJitterBuffer {
    /// What to do when a frame is due.
    private enum Decision {
        case decode
        case waitForFirst
        case conceal
        case comfort(holdsClock: Bool)
    }

    package mutating func pull(
        into output: UnsafeMutableBufferPointer<Int16>, decoder: inout OpusDecoder, now: Instant
    ) -> PullVerdict {
        var filled = 0
        var verdict = PullVerdict.played
        var decoded = 0
        while filled < output.count {
            if pcmCount > 0 {
                filled += emit(into: UnsafeMutableBufferPointer(rebasing: output[filled...]))
                continue
            }
            let rest = UnsafeMutableBufferPointer(rebasing: output[filled...])
            // A pull decodes a few frames at most, however short they are or however many are left out.
            let decision: Decision = decoded < 32 ? decide(now: now) : .conceal
            switch decision {
            case .decode:
                decoded += 1
                decodeFirst(decoder: &decoder, now: now)
                continue
            case .waitForFirst:
                rest.update(repeating: 0)
                verdict = .waiting
            case .conceal:
                conceal(rest, decoder: &decoder)
                verdict = .concealed
            case .comfort(let holdsClock):
                comfort(rest, holdsClock: holdsClock)
                verdict = verdict == .concealed ? .concealed : .comfort
            }
            filled = output.count
        }
        statistics.totalSamplesReceived += Int64(output.count)
        statistics.packetsHeld = slots.count
        return verdict
    }

    // MARK: - Decision

    /// Playout delay if the frame at `timestamp` is begun at `now`.
    private func playoutDelay(of timestamp: Int64, now: Instant) -> Nanoseconds {
        guard let base = delays.base else { return 0 }
        return now.nanoseconds - AudioFormat.nanoseconds(samples: timestamp) - base
    }

    private mutating func decide(now: Instant) -> Decision {
        guard let expected = next else {
            // The first frame is played as it comes: the first word counts.
            return slots.count > 0 ? .decode : .waitForFirst
        }
        guard let first = slots.first else {
            // What follows silence is most likely silence that was not sent.
            return lastFrameWasDTX || lastFrameWasQuiet ? .comfort(holdsClock: false) : .conceal
        }
        let delay = playoutDelay(of: first.timestamp, now: now)
        statistics.playoutDelay = delay.inMilliseconds
        if delay > delays.cap + Self.capMargin {
            discardDown(to: delays.cap, now: now)
            return .decode
        }
        let gap = first.timestamp - expected
        if gap <= Self.tolerance {
            // Grow towards the target where nobody hears it.
            if delay < delays.target - Self.quietMargin, lastFrameWasQuiet, !first.beginsStream {
                return .comfort(holdsClock: true)
            }
            return .decode
        }
        if first.beginsStream { return .decode }
        if first.marker || lastFrameWasDTX || isContiguous(first.sequence) {
            // A pause: the frame after it is due when its delay is the target, so the pause is where D is set right.
            return delay >= delays.target || madeUp >= gap + AudioFormat.samplesPerSecond
                ? .decode : .comfort(holdsClock: false)
        }
        // Given up once its time is over and all copies have had their chance; what that costs brings D to the target. But
        // there is a voice to be heard: noise is not made up for the delay's sake.
        let isPatient = madeUp < Self.concealmentSamples && delay < delays.target - Self.quietMargin
        if madeUp >= gap, !isPatient { return .decode }
        // Nor for what is missing once the frame behind it is late itself: the copies of all before it would have come.
        let lateness = madeUp < Self.concealmentSamples ? Self.drainMargin : 0
        return delay > delays.target + lateness ? .decode : .conceal
    }

    private mutating func discardDown(to limit: Nanoseconds, now: Instant) {
        while slots.count > 1, let first = slots.first, playoutDelay(of: first.timestamp, now: now) > limit {
            remember(played: first.timestamp)
            lastSequence = first.sequence
            statistics.packetsDiscarded += 1
            statistics.removedSamplesForAcceleration += Int64(first.sampleCount)
            slots.removeFirst()
        }
    }

    // MARK: - Sound

    private mutating func emit(into output: UnsafeMutableBufferPointer<Int16>) -> Int {
        guard let target = output.baseAddress else { return 0 }
        let count = min(output.count, pcmCount)
        target.update(from: pcm + pcmStart, count: count)
        pcmStart += count
        pcmCount -= count
        return count
    }

    private mutating func decodeFirst(decoder: inout OpusDecoder, now: Instant) {
        guard let first = slots.first else { return }
        if first.beginsStream { decoder.reset() }
        let room = UnsafeMutableBufferPointer(start: pcm, count: AudioFormat.maximumPacketSampleCount)
        let isAfterMadeUp = madeUp > 0 || next == nil || first.beginsStream
        let byteCount = first.byteCount
        var count = first.sampleCount
        do throws(OpusError) {
            count = try slots.takeFirst { (bytes) throws(OpusError) in try decoder.decode(bytes, into: room) }
        } catch {
            // A packet that lied about itself: its time is concealed.
            statistics.invalidPackets += 1
            count -= count % 120
            conceal(UnsafeMutableBufferPointer(start: pcm, count: count), decoder: &decoder)
        }
        pcmStart = 0
        pcmCount = count
        remember(played: first.timestamp)
        next = first.timestamp + Int64(count)
        lastSequence = first.sequence
        lastFrameWasDTX = byteCount <= 2
        let rms = ComfortNoise.level(of: UnsafeBufferPointer(start: pcm, count: count))
        lastFrameWasQuiet = rms <= noise.threshold
        noise.learn(rms: rms)
        let delay = playoutDelay(of: first.timestamp, now: now)
        statistics.playoutDelay = delay.inMilliseconds
        if isAfterMadeUp && lastWasComfort { fadeIn() }
        madeUp = 0
        isConcealing = false
        lastWasComfort = false
        if leavesOut(delay: delay, now: now) {
            leaveOut(now: now)
            return
        }
        mixJoint()
        statistics.jitterBufferEmittedCount += Int64(count)
        statistics.jitterBufferDelay += max(0, now - first.arrival).inMilliseconds / 1_000 * Double(count)
        statistics.jitterBufferTargetDelay += delays.target.inMilliseconds / 1_000 * Double(count)
    }

    /// Whether the frame just decoded is to be left out: it is quiet and D above the target by its length, or D is far above.
    private func leavesOut(delay: Nanoseconds, now: Instant) -> Bool {
        guard let following = slots.first, now - lastCorrection >= Self.correctionInterval else { return false }
        let excess = delay - delays.target
        if lastFrameWasQuiet { return excess >= AudioFormat.nanoseconds(samples: Int64(pcmCount)) + Self.quietMargin }
        // A voice that stands alone among what is missing is not left out: the gap goes instead.
        return excess > Self.drainMargin && following.timestamp - (next ?? following.timestamp) <= Self.tolerance
    }

    private mutating func leaveOut(now: Instant) {
        // Its beginning goes on from what was heard; the next frame is faded in over it.
        if jointCount == 0 {
            jointCount = min(pcmCount, Self.fadeSamples)
            joint.update(from: pcm, count: jointCount)
        }
        statistics.removedSamplesForAcceleration += Int64(pcmCount)
        pcmCount = 0
        lastCorrection = now
    }

    private mutating func mixJoint() {
        guard jointCount > 0 else { return }
        let length = min(jointCount, pcmCount)
        for index in 0..<length {
            let share = Int32(index) * 256 / Int32(length)
            pcm[index] = Int16(clamping: (Int32(joint[index]) * (256 - share) + Int32(pcm[index]) * share) / 256)
        }
        jointCount = 0
    }

    private mutating func fadeIn() {
        let length = min(Self.fadeSamples, pcmCount)
        for index in 0..<length { pcm[index] = Int16(Int32(pcm[index]) * Int32(index) / Int32(length)) }
    }

    private mutating func conceal(_ output: UnsafeMutableBufferPointer<Int16>, decoder: inout OpusDecoder) {
        statistics.concealedSamples += Int64(output.count)
        if !isConcealing {
            isConcealing = true
            statistics.concealmentEvents += 1
        }
        var isMade = false
        if madeUp < Self.concealmentSamples, output.count % 120 == 0 {
            do throws(OpusError) {
                try decoder.conceal(into: output)
                isMade = true
                lastWasComfort = false
            } catch {
                // The decoder has nothing to go on: noise it is.
            }
        }
        if !isMade {
            statistics.silentConcealedSamples += Int64(output.count)
            fillNoise(output)
        }
        madeUp += Int64(output.count)
    }

    private mutating func comfort(_ output: UnsafeMutableBufferPointer<Int16>, holdsClock: Bool) {
        isConcealing = false
        if holdsClock {
            statistics.insertedSamplesForDeceleration += Int64(output.count)
        } else {
            statistics.concealedSamples += Int64(output.count)
            statistics.silentConcealedSamples += Int64(output.count)
        }
        fillNoise(output)
        madeUp += Int64(output.count)
    }

    private mutating func fillNoise(_ output: UnsafeMutableBufferPointer<Int16>) {
        noise.fill(output)
        let length = min(jointCount, output.count)
        if length > 0 {
            for index in 0..<length {
                output[index] = Int16(
                    clamping: Int32(output[index]) + Int32(joint[index]) * Int32(length - index) / Int32(length))
            }
            jointCount = 0
        }
        lastWasComfort = true
    }
}
