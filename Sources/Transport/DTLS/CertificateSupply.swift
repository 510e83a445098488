package import ICELite
internal import Synchronization

/// The certificate that the calls of a process share, renewed once a day beside them.
///
/// A call keeps the certificate it began with: a renewal changes nothing about it, nor about its ICE restarts. Only the first
/// certificate is ever made on the path of a call, and only when nobody called `renewIfDue` before.
package final class CertificateSupply: Sendable {
    /// The process's own.
    package static let process = CertificateSupply()
    /// How long new calls get the same certificate.
    package static let rotationInterval: Nanoseconds = .seconds(86_400)

    private struct State {
        var certificate: DTLSCertificate?
        /// Nil when `current`, which knows no time, made it: the next `renewIfDue` dates it.
        var madeAt: Instant?
        var isRenewing = false
    }

    private let state = Mutex(State())
    private let perform: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// - Parameter perform: Runs a renewal elsewhere than on the thread of the caller; a detached task by default.
    package init(
        perform: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { work in Task.detached { work() } }
    ) {
        self.perform = perform
    }

    /// What a new call uses. Makes one (0.25 ms) only if there is none yet; nil when OpenSSL cannot.
    package var current: DTLSCertificate? {
        state.withLock { state in
            if state.certificate == nil { state.certificate = try? DTLSCertificate() }
            return state.certificate
        }
    }

    /// Has a certificate made elsewhere if there is none or the present one is a day old. Until it is there, `current` is
    /// the old one. Returns at once; call it wherever a call begins.
    package func renewIfDue(now: Instant) {
        let isDue = state.withLock { state in
            if state.certificate != nil {
                let madeAt = state.madeAt ?? now
                state.madeAt = madeAt
                if now - madeAt < Self.rotationInterval { return false }
            }
            if state.isRenewing { return false }
            state.isRenewing = true
            return true
        }
        if isDue { perform { self.renew(now) } }
    }

    private func renew(_ now: Instant) {
        let made = try? DTLSCertificate()
        state.withLock { state in
            state.isRenewing = false
            guard let made else { return }
            state.certificate = made
            state.madeAt = now
        }
    }
}
