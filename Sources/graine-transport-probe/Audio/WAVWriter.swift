internal import Foundation

/// Writes 16-bit mono PCM WAV files whole or not at all.
enum WAVWriter {
    /// The bytes of a WAV file. Samples beyond what 32 bits of size can say are left out.
    static func encode(_ samples: [Int16], sampleRate: Int) -> [UInt8] {
        let samples = samples.prefix((Int(UInt32.max) - 36) / 2)
        let dataSize = samples.count * 2
        var bytes: [UInt8] = []
        bytes.reserveCapacity(44 + dataSize)
        func append(_ value: Int, bytes count: Int) {
            for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
        }
        bytes += Array("RIFF".utf8)
        append(36 + dataSize, bytes: 4)
        bytes += Array("WAVEfmt ".utf8)
        append(16, bytes: 4)
        append(1, bytes: 2)
        append(1, bytes: 2)
        append(sampleRate, bytes: 4)
        append(sampleRate * 2, bytes: 4)
        append(2, bytes: 2)
        append(16, bytes: 2)
        bytes += Array("data".utf8)
        append(dataSize, bytes: 4)
        for sample in samples { append(Int(sample), bytes: 2) }
        return bytes
    }

    /// Writes beside `path` and renames, so that a failure leaves neither half a file nor a changed one.
    ///
    /// - Throws: ``ProbeError/resource(_:)`` when the place cannot be written.
    static func write(_ samples: [Int16], sampleRate: Int, path: String) throws(ProbeError) {
        try OutputFile.write(encode(samples, sampleRate: sampleRate), path: path)
    }
}

/// Files the probe makes.
enum OutputFile {
    /// Says before a call is placed that `path` cannot be written after it.
    static func preflight(path: String) throws(ProbeError) {
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) {
            guard !isDirectory.boolValue else { throw .resource("\(path) is a directory") }
            guard FileManager.default.isWritableFile(atPath: path) else { throw .resource("\(path) cannot be written") }
        }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        var folderIsDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &folderIsDirectory),
            folderIsDirectory.boolValue
        else { throw .resource("\(path) cannot be written: there is no folder \(folder)") }
        guard FileManager.default.isWritableFile(atPath: folder) else { throw .resource("\(path) cannot be written") }
    }

    /// Writes a temporary file beside `path` and renames it; devices such as /dev/null are written directly.
    static func write(_ bytes: [UInt8], path: String) throws(ProbeError) {
        do {
            let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
            let isDevice = type == .typeCharacterSpecial
            try Data(bytes).write(to: URL(fileURLWithPath: path), options: isDevice ? [] : .atomic)
        } catch {
            throw .resource("\(path) cannot be written")
        }
    }
}
