internal import Foundation

extension WAVFile {
    /// Largest file that is read.
    static let byteLimit = 512 << 20

    /// Reads the file at `path`.
    ///
    /// - Throws: ``ProbeError/badInput(_:)`` when it is missing, unreadable, a directory or not a usable WAV.
    static func read(path: String) throws(ProbeError) -> WAVFile {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw .badInput("\(path) does not exist")
        }
        guard !isDirectory.boolValue else { throw .badInput("\(path) is a directory") }
        let bytes: [UInt8]
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            bytes = [UInt8](try handle.read(upToCount: byteLimit + 1) ?? Data())
        } catch {
            throw .badInput("\(path) cannot be read")
        }
        guard bytes.count <= byteLimit else { throw .badInput("\(path) is larger than \(byteLimit >> 20) MiB") }
        do throws(WAVError) {
            return try WAVFile(parsing: bytes)
        } catch {
            throw .badInput("\(path) \(error.description)")
        }
    }
}
