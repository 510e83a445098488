/// Why an SRTP session could not be made.
package enum SRTPError: Error, Equatable, Sendable {
    /// The key material is not as long as the profile says.
    case keyLength(expected: Int, actual: Int)
    /// libsrtp2 refused, with its `srtp_err_status_t`.
    case libsrtp(status: Int32)
}

extension SRTPError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .keyLength(let expected, let actual): "SRTP master key and salt of \(actual) bytes, \(expected) expected"
        case .libsrtp(let status): "libsrtp2 failed with status \(status)"
        }
    }
}
