internal import Foundation

/// The recording that the self-test sends. It lies in the package's resources, beside the executable.
enum SpeechSample {
    /// The speech at 48 kHz, mono.
    ///
    /// - Throws: ``ProbeError/internalFailure(_:)`` when the resource is missing: the build was moved without it.
    static func load() throws(ProbeError) -> [Int16] { try loaded.get() }

    /// Read once: the calls of a self-test share it.
    private static let loaded: Result<[Int16], ProbeError> = {
        do throws(ProbeError) { return .success(try read()) } catch { return .failure(error) }
    }()

    private static func read() throws(ProbeError) -> [Int16] {
        guard let url = Bundle.module.url(forResource: "speech", withExtension: "wav") else {
            throw .internalFailure("the speech recording is missing beside the executable")
        }
        do throws(ProbeError) {
            return try WAVFile.read(path: url.path).callSamples
        } catch {
            throw .internalFailure("the speech recording: \(error.message)")
        }
    }
}
