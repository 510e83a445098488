internal import CSRTP
internal import Transport

/// The same packet through libsrtp2 alone: what the library costs and allocates by itself, in the same process.
final class RawSRTPBench {
    private let sender: srtp_t
    private let receiver: srtp_t
    private let buffer = UnsafeMutableRawPointer.allocate(byteCount: 2_048, alignment: 16)
    private var sequence: UInt16 = 0
    private(set) var failures = 0

    init?(_ profile: SRTPProfile) {
        guard srtp_shim_initialize() == 0, let sender = srtp_shim_create(), let receiver = srtp_shim_create() else {
            return nil
        }
        self.sender = sender
        self.receiver = receiver
        let key = [UInt8](repeating: 1, count: profile.keyLength + profile.saltLength)
        for session in [sender, receiver] {
            guard srtp_shim_add(session, UInt32(profile.rawValue), 0, 0x1234_5678, key, key.count, 512) == 0 else {
                return nil
            }
        }
        buffer.initializeMemory(as: UInt8.self, repeating: 0x5A, count: 2_048)
    }

    deinit {
        srtp_dealloc(sender)
        srtp_dealloc(receiver)
        buffer.deallocate()
    }

    func turn(unprotects: Bool) {
        sequence &+= 1
        buffer.storeBytes(of: UInt16(0x806F).bigEndian, as: UInt16.self)
        buffer.storeBytes(of: sequence.bigEndian, toByteOffset: 2, as: UInt16.self)
        buffer.storeBytes(of: UInt32(0x1234_5678).bigEndian, toByteOffset: 8, as: UInt32.self)
        let length = srtp_shim_protect(sender, buffer, Int32(12 + SRTPBench.payloadByteCount))
        if length < 0 { failures += 1 }
        if unprotects, srtp_shim_unprotect(receiver, buffer, length) < 0 { failures += 1 }
    }
}
