package import ICELite

extension Scenario {
    /// One of the client's networks: an interface with its addresses, what datagrams and what the line meet there.
    package struct NetworkPart: Hashable, Sendable {
        /// What translates the interface's IPv4 address.
        package enum NAT: Hashable, Sendable {
            case none
            /// Lets in whoever writes to a mapping; forgets one after this silence.
            case fullCone(timeout: Nanoseconds)
            /// Lets in only whom the inside wrote to.
            case portRestricted(timeout: Nanoseconds)
        }

        package var name: String
        /// The interface has an IPv6 address beside its IPv4 one.
        package var hasV6 = false
        package var nat = NAT.none
        package var udp = Quality()
        package var tcp = Quality()

        package init(name: String) { self.name = name }
    }

    /// What packets meet, each way.
    package struct Quality: Hashable, Sendable {
        /// How the delay varies.
        package enum Jitter: Hashable, Sendable {
            case none
            case normal(Nanoseconds)
            case uniform(Nanoseconds)
            /// As a trace has it, losses included.
            case trace(String)
        }

        /// One-way delays.
        package var up: Nanoseconds = .milliseconds(25)
        package var down: Nanoseconds = .milliseconds(25)
        package var jitter = Jitter.none
        /// Losses in thousandths of a percent, and the mean length of a burst; a burst of 1 is independent loss.
        package var loss = 0
        package var lossBurst = 1
        package var reorder = 0
        package var duplicates = 0
        /// Bits a second; nil for no limit.
        package var rate: Int?
        /// How long a packet may wait for the rate.
        package var queue: Nanoseconds = .milliseconds(200)

        package init() {}

        /// Up and down together.
        package var roundTrip: Nanoseconds { up + down }
    }
}
