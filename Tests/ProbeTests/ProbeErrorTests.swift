import Testing

@testable import graine_transport_probe

@Suite("What the probe says went wrong") struct ProbeErrorTests {
    @Test("A server's words stay on one line and reach the terminal without control characters")
    func controls() {
        let escape = "\u{1B}[2J\u{1B}]0;title\u{07}gone\u{9B}31m"
        #expect(ProbeError.refused(escape).message == "[2J]0;titlegone31m")
        #expect(ProbeError.noPath("one\r\ntwo\nthree\u{85}fo\tur\u{0}\u{7F}").message == "one two three fo ur")
        #expect(ProbeError.badInput("Zoë 🎧 naïve").message == "Zoë 🎧 naïve")
    }
}
