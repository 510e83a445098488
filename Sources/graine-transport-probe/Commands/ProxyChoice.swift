/// What `--proxy` and the environment ask for. The line cannot go through a proxy yet, and says so rather than going around
/// one that was asked for by name.
struct ProxyChoice {
    /// The variables that name a proxy for a call line, the first that is set counts.
    private static let variables = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

    /// A line of progress when the environment has a proxy that nobody asked to use; else nil.
    let note: String?

    /// - Throws: `usage` when a proxy was asked for.
    init(_ options: ProbeOptions, environment: [String: String]) throws(ProbeError) {
        let variable = Self.variables.first { environment[$0]?.isEmpty == false }
        switch options.proxy {
        case .url: throw .usage("--proxy: a proxy is not supported yet; --proxy none goes without")
        case .fromEnvironment:
            if options.proxyIsExplicit, let variable {
                throw .usage("--proxy env: \(variable) is set, and a proxy is not supported yet")
            }
            let isFar = options.target != nil && !options.targetIsLiteralLoopback
            note = isFar ? variable.map { "\($0) is set; a proxy is not supported yet, the call goes without" } : nil
        case .off: note = nil
        }
    }
}
