internal import Transport

/// The probe's microphone and ear: writes a recording into a call's capture ring in real time and keeps what its
/// playout ring gives.
struct SpeechPump: Sendable {
    /// One audio frame: 20 ms at 48 kHz, mono.
    static let frameSamples = 960
    static let frameDuration = Duration.milliseconds(20)
    /// Longest recording that is kept: an hour.
    static let recordingLimit = 3_600 * RecordingResampler.callSampleRate

    struct Outcome: Sendable {
        /// What was heard since the start, 48 kHz mono: playout left over from before is thrown away.
        var heard: [Int16]
        var lateness: TimerLateness
    }

    let capture: PCMRing
    let playout: PCMRing
    /// 48 kHz mono; silence follows.
    let audio: [Int16]

    /// Runs from the call's active on, for `duration` or until the task is cancelled.
    ///
    /// Frames that a slow machine owes are written together, so that the speech never runs behind the clock.
    func run(for duration: Duration) async -> Outcome {
        var heard: [Int16] = []
        var lateness = TimerLateness()
        heard.reserveCapacity(audio.count + RecordingResampler.callSampleRate)
        playout.discardAll()
        let start = ContinuousClock.now
        var written = 0
        while true {
            let elapsed = ContinuousClock.now - start
            while Self.frameDuration * (written / Self.frameSamples) <= min(elapsed, duration) {
                writeFrame(at: written)
                written += Self.frameSamples
            }
            Self.drain(playout, into: &heard)
            guard elapsed < duration else { break }
            let next = start + Self.frameDuration * (written / Self.frameSamples)
            // A cancelled call is over: what was heard by now is the result.
            let due = min(next, start + duration)
            guard (try? await Task.sleep(until: due, clock: .continuous)) != nil else { break }
            lateness.note(ContinuousClock.now - due)
        }
        Self.drain(playout, into: &heard)
        return Outcome(heard: heard, lateness: lateness)
    }

    private func writeFrame(at position: Int) {
        let end = min(audio.count, position + Self.frameSamples)
        var frame = position < end ? Array(audio[position..<end]) : []
        frame += repeatElement(0, count: Self.frameSamples - frame.count)
        // A full ring means that the call stands still; it counts what it refuses.
        frame.withUnsafeBufferPointer { _ = capture.write($0) }
    }

    /// Moves everything that `ring` holds to the end of `samples`.
    static func drain(_ ring: PCMRing, into samples: inout [Int16]) {
        var chunk = [Int16](repeating: 0, count: frameSamples)
        while samples.count < recordingLimit {
            let wanted = min(chunk.count, ring.availableToRead)
            guard wanted > 0 else { return }
            let count = chunk.withUnsafeMutableBufferPointer {
                ring.read(into: UnsafeMutableBufferPointer(rebasing: $0[..<wanted]))
            }
            samples += chunk[..<count]
        }
    }
}
