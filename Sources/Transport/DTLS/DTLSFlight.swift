import COpenSSL

/// One flight of the handshake: its datagrams, and the repeats OpenSSL wrote in advance with record numbers of their own.
struct DTLSFlight {
    /// The first transmission.
    var originals: [[UInt8]] = []
    /// Repeats 1, 2, …, each a list of datagrams.
    var repeats: [[[UInt8]]] = []

    /// Repeat `number` (from 1); the last one again past the end; nil when there are none.
    func repeated(_ number: Int) -> [[UInt8]]? {
        repeats.isEmpty ? nil : repeats[min(max(number, 1), repeats.count) - 1]
    }

    /// Takes what a box has written. Records are glued, in order, into datagrams of at most `maximumDatagram` bytes.
    ///
    /// A single longer record gets a datagram of its own; OpenSSL makes none, it knows the limit.
    init(takingWritesOf box: OpaquePointer, maximumDatagram: Int) {
        for index in 0..<dtls_box_write_count(box) {
            var length = 0
            var number: Int32 = 0
            guard let start = dtls_box_write_at(box, index, &length, &number) else { break }
            while repeats.count < Int(number) { repeats.append([]) }
            let bytes = UnsafeRawBufferPointer(start: start, count: length)
            if number == 0 {
                Self.append(bytes, to: &originals, maximumDatagram)
            } else {
                Self.append(bytes, to: &repeats[Int(number) - 1], maximumDatagram)
            }
        }
        dtls_box_clear_writes(box)
    }

    private static func append(_ written: UnsafeRawBufferPointer, to datagrams: inout [[UInt8]], _ maximum: Int) {
        var offset = 0
        while offset < written.count {
            var end = written.count
            if end - offset >= DTLSRecordScan.headerLength {
                let length = Int(written[offset + 11]) << 8 | Int(written[offset + 12])
                end = min(end, offset + DTLSRecordScan.headerLength + length)
            }
            let record = written[offset..<end]
            if let last = datagrams.last, last.count + record.count <= maximum {
                datagrams[datagrams.count - 1].append(contentsOf: record)
            } else {
                datagrams.append(Array(record))
            }
            offset = end
        }
    }
}
