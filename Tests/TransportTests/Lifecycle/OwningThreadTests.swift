import Foundation
import ICELite
import Testing
import TransportRuntime

@testable import TransportMedia

#if DEBUG
/// What OpenSSL and libsrtp2 keep of a call is for one thread at a time. Asserted in debug builds, so that every call of these
/// tests is watched; here, that the assertion is there at all.
@Suite("Sessions and the thread that made them", .timeLimit(.minutes(5))) struct OwningThreadTests {
    @Test("LIFE-12: a DTLS session is for the thread that made it alone: another one's use of it ends a debug build")
    func dtls() async {
        await #expect(processExitsWith: .success) { try Sessions().useDTLS() }
        await #expect(processExitsWith: .failure) { try Sessions().elsewhere { $0.useDTLS() } }
    }

    @Test("LIFE-12: an SRTP session is for the thread that made it alone: another one's use of it ends a debug build")
    func srtp() async {
        await #expect(processExitsWith: .success) { try Sessions().useSRTP() }
        await #expect(processExitsWith: .failure) { try Sessions().elsewhere { $0.useSRTP() } }
    }

    @Test("LIFE-12: who made it may use it, another thread may not, whatever the two are")
    func owner() throws {
        let owner = OwningThread()
        #expect(owner.isCurrent)
        #expect(try !Sessions.onAnotherThread { owner.isCurrent })
    }

    /// Both sessions, made by the thread that makes this.
    ///
    /// `@unchecked Sendable`: one thread at a time; that it is another one is what is tried.
    private final class Sessions: @unchecked Sendable {
        private var dtls: DTLSSession
        private var srtp: SRTPSession

        init() throws {
            dtls = try DTLSSession(role: .client, certificate: DTLSCertificate())
            srtp = try SRTPSession(keys: SRTPSessionTests.keys(.aeadAES128GCM), localSSRC: 1)
        }

        func useDTLS() {
            dtls.start(now: .zero)
            dtls.close()
        }

        func useSRTP() { srtp.addRemoteSSRC(2) }

        func elsewhere(_ use: @escaping @Sendable (Sessions) -> Void) throws {
            try Self.onAnotherThread { use(self) }
        }

        @discardableResult
        static func onAnotherThread<R: Sendable>(_ body: @escaping @Sendable () -> R) throws -> R {
            let loop = try EventLoop(name: "graine-other")
            defer { loop.stop() }
            return try #require(loop.perform(body))
        }
    }
}
#endif
