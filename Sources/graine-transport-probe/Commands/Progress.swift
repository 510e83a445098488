internal import Foundation
internal import Synchronization

/// What goes on, on stderr: one redrawn line on a terminal, plain lines elsewhere, nothing with `--quiet`.
final class Progress: Sendable {
    enum Style: Sendable { case silent, plain, redrawn }

    private let style: Style
    private let sink: @Sendable (String) -> Void
    private let lineIsOpen = Mutex(false)
    /// Longest line that is redrawn: a wrapped one cannot be.
    private static let widthLimit = 78

    init(style: Style, sink: @escaping @Sendable (String) -> Void = Console.writeError) {
        self.style = style
        self.sink = sink
    }

    /// Whether a line takes the place of the one before.
    var redraws: Bool { style == .redrawn }

    /// Shows `text`, one line.
    func note(_ text: String) {
        switch style {
        case .silent: return
        case .plain: sink(text + "\n")
        case .redrawn:
            lineIsOpen.withLock { open in
                open = true
                sink("\r\u{1B}[K" + String(text.prefix(Self.widthLimit)))
            }
        }
    }

    /// Takes the redrawn line away, before anything else is printed.
    func finish() {
        lineIsOpen.withLock { open in
            if open { sink("\r\u{1B}[K") }
            open = false
        }
    }
}

/// The process's two output streams.
enum Console {
    /// Whether stderr is a terminal.
    static var errorIsTerminal: Bool { isatty(2) == 1 }
    static var outputIsTerminal: Bool { isatty(1) == 1 }

    @Sendable static func write(_ text: String) { try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) }

    @Sendable static func writeError(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}
