internal import Glibc

/// The thread that made something which one thread alone may use: kept in debug builds only.
///
/// A noncopyable machine has one owner by its type, but that owner is a driver that several threads know (`@unchecked
/// Sendable`, confined to its loop): that none of them goes past the loop is no type's doing. A debug build asserts it.
package struct OwningThread: Sendable {
    #if DEBUG
    private let thread = UInt(pthread_self())
    #endif

    /// The thread that this is called on.
    package init() {}

    #if DEBUG
    /// For `assert`, which asks in debug builds only.
    package var isCurrent: Bool { UInt(pthread_self()) == thread }
    #else
    package var isCurrent: Bool { true }
    #endif
}
