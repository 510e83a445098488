internal import COpenSSL

/// The same HMAC-SHA1 by the kept pads, by a duplicated EVP_MAC context and by OpenSSL's one-shot call.
final class HMACBench {
    private let key: [UInt8]
    private let message: [UInt8]
    private let pads: OpaquePointer
    private let context: OpaquePointer
    private var value = [UInt8](repeating: 0, count: 32)
    private let expected: [UInt8]

    init(key: [UInt8], message: [UInt8]) {
        self.key = key
        self.message = message
        var parameters = [OSSL_PARAM](repeating: OSSL_PARAM_construct_end(), count: 2)
        var digest = Array("SHA1".utf8CString)
        guard let pads = hmac_shim_create(key, key.count), let mac = EVP_MAC_fetch(nil, "HMAC", nil),
            let context = EVP_MAC_CTX_new(mac)
        else { preconditionFailure("no HMAC") }
        self.pads = pads
        self.context = context
        let isReady = digest.withUnsafeMutableBufferPointer { name in
            parameters[0] = OSSL_PARAM_construct_utf8_string("digest", name.baseAddress, 0)
            return EVP_MAC_init(context, key, key.count, &parameters)
        }
        EVP_MAC_free(mac)
        precondition(isReady == 1, "the context must take the key")
        var count: UInt32 = 0
        var reference = [UInt8](repeating: 0, count: 32)
        HMAC(EVP_sha1(), key, Int32(key.count), message, message.count, &reference, &count)
        expected = Array(reference.prefix(20))
    }

    deinit {
        hmac_shim_free(pads)
        EVP_MAC_CTX_free(context)
    }

    /// What was calculated last is the HMAC.
    var isRight: Bool { Array(value.prefix(20)) == expected }

    func keptPads() {
        message.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            hmac_shim_sha1(pads, base, 4, base + 4, bytes.count - 4, &value)
        }
    }

    func duplicatedMAC() {
        guard let copy = EVP_MAC_CTX_dup(context) else { return }
        var count = 0
        EVP_MAC_update(copy, message, message.count)
        EVP_MAC_final(copy, &value, &count, value.count)
        EVP_MAC_CTX_free(copy)
    }

    func oneShot() {
        var count: UInt32 = 0
        HMAC(EVP_sha1(), key, Int32(key.count), message, message.count, &value, &count)
    }
}
