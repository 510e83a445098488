internal import Transport

/// What a call tells of its recovery.
enum RecoveryView {
    static func isRecovering(_ call: borrowing ClientCall) -> Bool { false }
    static func isRecovering(_ call: borrowing ServerCall) -> Bool { false }
    static func isBridgeAsked(_ call: borrowing ClientCall) -> Bool { false }
    static func isBridgeAsked(_ call: borrowing ServerCall) -> Bool { false }
}
