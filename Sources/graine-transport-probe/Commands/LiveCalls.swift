/// Who places real calls and serves them in this build.
enum LiveCalls {
    static var placer: any CallPlacing { LiveCallPlacer() }
    static var server: any EchoServing { LiveEchoServer() }
}

/// Stands where the library's call path is not linked yet: says so, and pretends nothing.
struct NoCalls: CallPlacing, EchoServing {
    func place(
        _ plan: CallPlan, progress: @escaping @Sendable (String) -> Void
    ) async throws(ProbeError) -> CallResult {
        throw .internalFailure("this build cannot place calls yet")
    }

    func serve(
        _ options: ProbeOptions, key: String?, ready: @escaping @Sendable (String) -> Void
    ) async throws(ProbeError) {
        throw .internalFailure("this build cannot serve calls yet")
    }
}
