internal import CLibFuzzer
package import FuzzTargets

/// libFuzzer around one target. A finding is a trap: that is what libFuzzer keeps the input of.
package enum FuzzDriver {
    /// The target of this process; set once, before the loop begins.
    nonisolated(unsafe) private static var target = FuzzTarget.stun

    /// Runs `target` with the process's arguments; libFuzzer's exit code.
    package static func run(_ target: FuzzTarget) -> Int32 {
        Self.target = target
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        return LLVMFuzzerRunDriver(&count, &arguments) { data, size in
            FuzzDriver.take(Array(UnsafeBufferPointer(start: data, count: size)))
            return 0
        }
    }

    private static func take(_ bytes: [UInt8]) {
        do throws(FuzzFinding) {
            try target.run(bytes)
        } catch {
            fatalError(error.text)
        }
    }
}
