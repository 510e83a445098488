import COpenSSL

/// Bytes that are overwritten before their memory is given back. Never changed after they were made.
///
/// `@unchecked Sendable`: the storage is written in `init` only, read-only afterwards.
final class SecretBytes: @unchecked Sendable {
    private let storage: UnsafeMutableRawBufferPointer

    /// Copies `bytes`; the caller wipes its own.
    init(copying bytes: UnsafeRawBufferPointer) {
        storage = .allocate(byteCount: max(bytes.count, 1), alignment: 16)
        storage.copyMemory(from: bytes)
        length = bytes.count
    }

    deinit {
        dtls_wipe(storage.baseAddress, storage.count)
        storage.deallocate()
    }

    /// Bytes there are.
    let length: Int

    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        body(UnsafeRawBufferPointer(start: storage.baseAddress, count: length))
    }
}

/// The master keys of one DTLS association, both directions; wiped from memory when the last copy goes.
package struct SRTPKeys: Sendable {
    /// The profile both directions use.
    package let profile: SRTPProfile
    private let local: SecretBytes
    private let remote: SecretBytes

    /// Takes key followed by salt of each direction.
    ///
    /// - Parameters:
    ///   - local: What we protect with: 28 bytes for GCM, 30 for counter mode.
    ///   - remote: What the peer protects with.
    /// - Throws: `SRTPError.keyLength`.
    package init(profile: SRTPProfile, local: [UInt8], remote: [UInt8]) throws(SRTPError) {
        let expected = profile.keyLength + profile.saltLength
        for part in [local, remote] where part.count != expected {
            throw .keyLength(expected: expected, actual: part.count)
        }
        self.profile = profile
        self.local = local.withUnsafeBytes { SecretBytes(copying: $0) }
        self.remote = remote.withUnsafeBytes { SecretBytes(copying: $0) }
    }

    /// Splits the exporter's output: client key, server key, client salt, server salt. RFC 5764 §4.2.
    ///
    /// - Throws: `SRTPError.keyLength` when `material` is not 2 × (key + salt) long.
    package init(profile: SRTPProfile, exported material: borrowing RawSpan, role: DTLSRole) throws(SRTPError) {
        let key = profile.keyLength
        let salt = profile.saltLength
        guard material.byteCount == 2 * (key + salt) else {
            throw .keyLength(expected: 2 * (key + salt), actual: material.byteCount)
        }
        self.profile = profile
        var halves: [SecretBytes] = []
        material.withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(byteCount: key + salt, alignment: 16) { half in
                for index in 0..<2 {
                    half.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[(index * key)..<((index + 1) * key)]))
                    let from = 2 * key + index * salt
                    UnsafeMutableRawBufferPointer(rebasing: half[key...])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[from..<(from + salt)]))
                    halves.append(SecretBytes(copying: UnsafeRawBufferPointer(half)))
                }
                dtls_wipe(half.baseAddress, half.count)
            }
        }
        local = halves[role == .client ? 0 : 1]
        remote = halves[role == .client ? 1 : 0]
    }

    /// Lends the key and salt that we protect with. Copies made of them are the caller's to wipe.
    package func withLocal<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { local.withUnsafeBytes(body) }

    /// Lends the key and salt that the peer protects with.
    package func withRemote<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { remote.withUnsafeBytes(body) }
}
