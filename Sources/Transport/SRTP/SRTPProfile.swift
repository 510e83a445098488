/// A protection profile of DTLS-SRTP, by its IANA number (RFC 5764 §4.1.2, RFC 7714 §14.2).
package enum SRTPProfile: UInt16, Sendable, Hashable, CaseIterable {
    /// AES-128 in counter mode with an 80-bit HMAC-SHA1 tag.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    case aes128CMHMACSHA1_80 = 1
    /// AES-128 in Galois/counter mode with a 128-bit tag.
    case aeadAES128GCM = 7

    /// Bytes of a master key.
    package var keyLength: Int { 16 }
    /// Bytes of a master salt.
    package var saltLength: Int { self == .aeadAES128GCM ? 12 : 14 }
    /// Bytes of the tag at the end of an SRTP packet.
    package var rtpTagLength: Int { self == .aeadAES128GCM ? 16 : 10 }
    /// Bytes of tag and index that an SRTCP packet carries more than its RTCP packet.
    package var rtcpTrailerLength: Int { rtpTagLength + 4 }

    /// The name OpenSSL knows the profile by.
    package var opensslName: String { self == .aeadAES128GCM ? "SRTP_AEAD_AES_128_GCM" : "SRTP_AES128_CM_SHA1_80" }
}
