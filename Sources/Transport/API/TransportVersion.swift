/// The version of this library.
public enum TransportVersion {
    /// Semantic version, as hello and the tools say it.
    public static let current = "0.1.0"
}
