/// Who places real calls and serves them.
enum LiveCalls {
    static var placer: any CallPlacing { LiveCallPlacer() }
    static var server: any EchoServing { LiveEchoServer() }
}
