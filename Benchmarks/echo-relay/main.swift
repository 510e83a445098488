internal import Glibc
internal import TransportMedia

/// What the echo benchmark measures: an endpoint that relays without decoding, of the endpoint's own parts.
///
///     echo-relay PROFILE PORT...      PROFILE gcm or sha1; an even number of ports of 127.0.0.1, a peer each
///
/// Prints "READY port" and relays until its standard input ends: what peer i protects goes, protected anew, to peer i ^ 1.
/// Peer i sends with SSRC 0x1000 + i and key bytes 0x10 + i, and is sent to with key bytes 0x80 + i.
let arguments = CommandLine.arguments.dropFirst()
let ports = arguments.dropFirst().compactMap { UInt16($0) }
guard let profile = arguments.first, ports.count >= 2, ports.count % 2 == 0, ports.count == arguments.count - 1 else {
    exit(64)
}
do {
    let relay = try EchoRelay(profile == "gcm" ? .aeadAES128GCM : .aes128CMHMACSHA1_80, ports: ports)
    let line = "READY \(relay.port)\n"
    guard write(STDOUT_FILENO, line, line.utf8.count) == line.utf8.count else { exit(71) }
    var byte: UInt8 = 0
    // The end of standard input is the end.
    while read(STDIN_FILENO, &byte, 1) > 0 {}
    relay.stop()
} catch {
    exit(71)
}
