/// Why an `ImpairmentRelay` could not be started.
public enum RelayError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A system call failed; `code` is its errno.
    case system(call: String, code: Int32)

    /// One line of text.
    public var description: String {
        switch self {
        case .system(let call, let code): "the impairment relay's \(call) failed with error \(code)"
        }
    }
}
