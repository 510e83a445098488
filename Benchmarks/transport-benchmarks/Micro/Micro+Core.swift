internal import ICELite
internal import Transport
import TransportRuntime

extension Micro {
    /// Time, addresses and packet buffers.
    static var core: [Benchmark] {
        [
            Benchmark("micro/instant/add-compare") {
                { iterations in
                    var now = Instant.zero
                    var later = 0
                    for index in 0..<iterations {
                        let deadline = now + .milliseconds(20)
                        if deadline > now { later &+= index }
                        now = now + 1_000
                    }
                    keep(later)
                }
            },
            Benchmark("micro/random/seeded-word") {
                { iterations in
                    var random = Randomness.seeded(1)
                    var sum: UInt64 = 0
                    for _ in 0..<iterations { sum ^= random.next() }
                    keep(sum)
                }
            },
            Benchmark("micro/socket-address/hash") {
                let addresses = Micro.addresses
                return { iterations in
                    var sum = 0
                    for index in 0..<iterations { sum ^= addresses[index & 63].hashValue }
                    keep(sum)
                }
            },
            Benchmark("micro/socket-address/dictionary-lookup", note: "64 entries") {
                let addresses = Micro.addresses
                let table = Dictionary(uniqueKeysWithValues: addresses.enumerated().map { ($0.element, $0.offset) })
                return { iterations in
                    var sum = 0
                    for index in 0..<iterations { sum &+= table[addresses[index & 63]] ?? 0 }
                    keep(sum)
                }
            },
            Benchmark("micro/socket-address/parse", note: "IPv6 text") {
                { iterations in for _ in 0..<iterations { keep(IPAddress("2001:db8:0:1::42")) } }
            },
            Benchmark("micro/packet-pool/take-give") {
                let pool = PacketPool(size: 64)
                return { iterations in
                    var room = 0
                    for _ in 0..<iterations {
                        guard let packet = pool.take() else { return }
                        room &+= packet.capacity
                    }
                    keep(room)
                }
            },
            Benchmark("micro/packet-pool/take-fill-give", note: "200 bytes") {
                let pool = PacketPool(size: 64)
                let bytes = [UInt8](repeating: 0xA5, count: 200)
                return { iterations in
                    var filled = 0
                    for _ in 0..<iterations {
                        guard var packet = pool.take() else { return }
                        packet.assign(bytes.span.bytes)
                        filled &+= packet.count
                    }
                    keep(filled)
                }
            },
        ]
    }

    /// 64 different addresses, IPv4 and IPv6 in turn.
    private static var addresses: [SocketAddress] {
        (0..<64).map { index in
            let ip =
                index % 2 == 0
                ? IPAddress(v4: 0xC000_0200 + UInt32(index))
                : IPAddress(v6High: 0x2001_0DB8 << 32, low: UInt64(index))
            return SocketAddress(ip: ip, port: UInt16(40_000 + index))
        }
    }
}
