internal import Glibc

/// What the standard library leaves to the platform's C library.
package enum ElementaryFunctions {
    /// The sine of `angle` radians. The corresponding C function is `sin`.
    package static func sine(_ angle: Double) -> Double { sin(angle) }
    /// The cosine of `angle` radians. The corresponding C function is `cos`.
    package static func cosine(_ angle: Double) -> Double { cos(angle) }
}
