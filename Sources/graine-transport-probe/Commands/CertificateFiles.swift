internal import Foundation
internal import TransportRuntime

/// Looks at the PEM files of `--ca`, `--cert` and `--cert-key` before anything is opened.
enum CertificateFiles {
    /// - Throws: `badInput`, naming flag and file, when `path` holds no certificate that can be trusted.
    static func checkAuthority(_ path: String) throws(ProbeError) {
        try checkReadable(path, flag: "--ca")
        do throws(TLSError) {
            _ = try TLSContext(trust: .file(path))
        } catch {
            throw .badInput("--ca: \(path) holds no PEM certificate")
        }
    }

    /// - Throws: `badInput`, naming flag and file, when the two are not a certificate and its key.
    static func checkIdentity(certificate: String, key: String) throws(ProbeError) {
        try checkReadable(certificate, flag: "--cert")
        try checkReadable(key, flag: "--cert-key")
        do throws(TLSError) {
            _ = try TLSContext(trust: .file(certificate))
        } catch {
            throw .badInput("--cert: \(certificate) holds no PEM certificate")
        }
        do throws(TLSError) {
            _ = try TLSIdentity(certificateChainFile: certificate, keyFile: key)
        } catch {
            throw .badInput("--cert-key: \(key) is not the PEM key of \(certificate)")
        }
    }

    private static func checkReadable(_ path: String, flag: String) throws(ProbeError) {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw .badInput("\(flag): \(path) does not exist")
        }
        guard !isDirectory.boolValue else { throw .badInput("\(flag): \(path) is a directory") }
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw .badInput("\(flag): \(path) cannot be read")
        }
    }
}
