@testable import TransportMedia

/// Bytes that count how often one of them is read.
struct CountedBytes: SDPBytes {
    final class Reads {
        var count = 0
    }

    private let base: ArraySlice<UInt8>
    let reads: Reads

    init(_ text: String) {
        base = Array(text.utf8)[...]
        reads = Reads()
    }

    private init(_ base: ArraySlice<UInt8>, _ reads: Reads) {
        self.base = base
        self.reads = reads
    }

    var startIndex: Int { base.startIndex }
    var endIndex: Int { base.endIndex }

    subscript(position: Int) -> UInt8 {
        reads.count += 1
        return base[position]
    }

    subscript(bounds: Range<Int>) -> CountedBytes { CountedBytes(base[bounds], reads) }
}
