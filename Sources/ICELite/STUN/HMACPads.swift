internal import COpenSSL

/// Owner of the C shim's pads.
///
/// `@unchecked Sendable`: nothing changes what the pointer shows after init, and the shim only reads it.
final class HMACPads: @unchecked Sendable {
    private let pads: OpaquePointer

    /// nil for an empty key, and without memory.
    init?(key: [UInt8]) {
        guard !key.isEmpty, let pads = unsafe hmac_shim_create(key, key.count) else { return nil }
        unsafe self.pads = pads
    }

    deinit { unsafe hmac_shim_free(pads) }

    /// The HMAC of `head`, big-endian, followed by `rest`: 20 or 32 bytes at the front.
    func digest(_ integrity: STUNIntegrity, head: UInt32, rest: borrowing RawSpan) -> InlineArray<32, UInt8> {
        var result = InlineArray<32, UInt8>(repeating: 0)
        var head = head.bigEndian
        unsafe rest.withUnsafeBytes { rest in
            unsafe withUnsafeBytes(of: &head) { head in
                unsafe withUnsafeMutableBytes(of: &result) { output in
                    let hash = integrity == .sha256 ? hmac_shim_sha256 : hmac_shim_sha1
                    unsafe hash(
                        pads, head.baseAddress?.assumingMemoryBound(to: UInt8.self), head.count,
                        rest.baseAddress?.assumingMemoryBound(to: UInt8.self), rest.count,
                        output.baseAddress?.assumingMemoryBound(to: UInt8.self))
                }
            }
        }
        return result
    }
}
