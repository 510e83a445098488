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

    /// Bytes at the start that may be handed to OpenSSL.
    var admitted = 0
    /// Why the bytes behind them may not.
    var refusal: DTLSDropReason?
    /// Description of the alert in the clear that ended the scan, if it has one.
    var alertDescription: UInt8?

    /// Looks for the first record in the clear that has no business in a handshake. An attacker can write those.
    init(_ datagram: borrowing RawSpan) {
        let total = datagram.byteCount
        datagram.withUnsafeBytes { bytes in
            var offset = 0
            while total - offset >= Self.headerLength {
                let type = bytes[offset]
                let epoch = UInt16(bytes[offset + 3]) << 8 | UInt16(bytes[offset + 4])
                let length = Int(bytes[offset + 11]) << 8 | Int(bytes[offset + 12])
                if epoch == 0, type != Self.handshake, type != Self.changeCipherSpec {
                    refusal = type == Self.alert ? .plaintextAlert : .plaintextRecord
                    let body = offset + Self.headerLength
                    if type == Self.alert, length == 2, total - body >= 2 { alertDescription = bytes[body + 1] }
                    return
                }
                offset += Self.headerLength + min(length, total - offset - Self.headerLength)
                admitted = offset
            }
            // A tail too short for a header is OpenSSL's to pass over.
            if admitted > 0 { admitted = total } else { refusal = .malformed }
        }
    }
}
