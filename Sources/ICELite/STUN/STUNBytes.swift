extension RawSpan {
    /// The big-endian number of type `T` at `offset`; the caller has checked that it fits.
    @inline(__always)
    func bigEndian<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type) -> T {
        T(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: T.self))
    }

    /// The bytes as an array. Allocates: for the signalling and for tests.
    package var copiedBytes: [UInt8] { withUnsafeBytes { [UInt8]($0) } }

    /// Whether these are the bytes of `other`. For what is no secret.
    func elementsEqual(_ other: [UInt8]) -> Bool {
        guard byteCount == other.count else { return false }
        for index in 0..<byteCount where bigEndian(at: index, as: UInt8.self) != other[index] { return false }
        return true
    }
}
