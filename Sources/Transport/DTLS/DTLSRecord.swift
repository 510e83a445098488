/// What a datagram's record headers say, before OpenSSL sees it (RFC 6347 §4.1).
///
/// ```
///  0      1       3      5              11      13
/// | type | version | epoch | sequence number | length | body …
/// ```
struct DTLSRecordScan: Equatable {
    static let headerLength = 13
    static let alert: UInt8 = 21
    static let handshake: UInt8 = 22
    static let changeCipherSpec: UInt8 = 20
    /// Level of an alert, and the description that ends an association without being an error (RFC 5246 §7.2).
    static let fatal: UInt8 = 2
    static let closeNotify: UInt8 = 0

    /// Bytes at the start that may be handed to OpenSSL.
    var admitted = 0
    /// Encrypted records among those.
    var encrypted = 0
    /// Why the bytes behind them may not.
    var refusal: DTLSDropReason?
    /// Description of the alert in the clear that ended the scan, if it says that the peer has given up: a fatal one or
    /// close_notify. Warnings mean nothing here.
    var endingAlert: UInt8?

    /// Looks for the first record in the clear that has no business in a handshake. An attacker can write those.
    ///
    /// - Parameters:
    ///   - isAuthentic: The datagram came by the call line: nobody but the peer wrote it, and all of it is admitted.
    ///   - expectsMessages: A handshake message in the clear may still come; else it is none of the peer's, or a repeat.
    ///   - encryptedLimit: Encrypted records that are admitted at most.
    init(
        _ datagram: borrowing RawSpan, isAuthentic: Bool, expectsMessages: Bool = true, encryptedLimit: Int = .max
    ) {
        let total = datagram.byteCount
        datagram.withUnsafeBytes { bytes in
            var offset = 0
            while total - offset >= Self.headerLength {
                let type = bytes[offset]
                let epoch = UInt16(bytes[offset + 3]) << 8 | UInt16(bytes[offset + 4])
                let length = Int(bytes[offset + 11]) << 8 | Int(bytes[offset + 12])
                let isExpected = type == Self.changeCipherSpec || type == Self.handshake && expectsMessages
                if epoch == 0, !isExpected, !isAuthentic {
                    refusal = type == Self.alert ? .plaintextAlert : .plaintextRecord
                    let body = offset + Self.headerLength
                    guard type == Self.alert, length == 2, total - body >= 2 else { return }
                    let isFatal = bytes[body] == Self.fatal
                    if isFatal || bytes[body + 1] == Self.closeNotify { endingAlert = bytes[body + 1] }
                    return
                }
                if epoch != 0 {
                    guard encrypted < encryptedLimit else { return refusal = .earlyRecord }
                    encrypted += 1
                }
                offset += Self.headerLength + min(length, total - offset - Self.headerLength)
                admitted = offset
            }
            // A tail too short for a header is OpenSSL's to pass over.
            if admitted > 0 { admitted = total } else { refusal = .malformed }
        }
    }
}
