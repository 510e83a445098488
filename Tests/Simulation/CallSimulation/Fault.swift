package import ICELite

/// Something that goes wrong in a call: when, what, where and for how long.
package struct Fault: Hashable, Sendable {
    package var anchor: FaultAnchor
    package var offset: FaultOffset
    package var verb: FaultVerb
    /// How long it lasts; 0 for what only happens.
    package var length: Nanoseconds = 0
    /// Bits a second, nanoseconds or thousandths of a percent: what `verb` counts in; 0 where it counts nothing.
    package var value = 0
    package var target = FaultTarget()
    package var direction = FaultDirection.both
    package var end = FaultEnd.client

    package init(anchor: FaultAnchor, offset: FaultOffset = .time(0), verb: FaultVerb) {
        self.anchor = anchor
        self.offset = offset
        self.verb = verb
    }
}

/// What a fault waits for.
package enum FaultAnchor: Hashable, Sendable {
    /// The first time that this happens.
    case milestone(Milestone)
    /// When a budget or patience of the product runs out.
    case deadline(FaultDeadline)
    /// The beginning or the end of another fault, by its place in the list.
    case beginning(Int)
    case end(Int)
}

/// The time from a fault's anchor.
package enum FaultOffset: Hashable, Sendable {
    /// May be negative where the anchor is a deadline.
    case time(Nanoseconds)
    /// Halves of the line's round trip.
    case halfRoundTrips(Int)
}

/// What the packets of a fault travel on.
package struct FaultTarget: Hashable, Sendable {
    package enum Carriage: String, Hashable, Sendable, CaseIterable {
        case udp
        case tcp
    }

    /// The interface's name; nil for all.
    package var interface: String?
    /// Nil for both.
    package var carriage: Carriage?
    /// Only datagrams of this version of IP; nil for both.
    package var family: IPAddress.Family?

    package init(interface: String? = nil, carriage: Carriage? = nil, family: IPAddress.Family? = nil) {
        self.interface = interface
        self.carriage = carriage
        self.family = family
    }
}

/// Seen from the client.
package enum FaultDirection: String, Hashable, Sendable, CaseIterable {
    case up
    case down
    case both
}

/// Whom a fault is about.
package enum FaultEnd: String, Hashable, Sendable, CaseIterable {
    case client
    case server
    case both
}

/// What goes wrong.
package enum FaultVerb: String, Hashable, Sendable, CaseIterable {
    // Packets.
    case drop
    case hold
    case reject
    case corrupt
    case dup
    case rate
    case delay
    case loss
    // Addresses.
    case rebind
    case addressChange = "address-change"
    case interfaceDown = "interface-down"
    case routeFlap = "route-flap"
    // The line.
    case cutFin = "cut-fin"
    case cutReset = "cut-rst"
    case cutSilent = "cut-silent"
    case halfOpen = "half-open"
    case slowReader = "slow-reader"
    case windowZero = "window-zero"
    // The endpoint.
    case drain
    case serverRequested = "server-requested"
    case restartNeeded = "restart-needed"
    // A host.
    case suspend
    case stall
    // The application.
    case hangUp = "hangup"
    case mute
    // Somebody else.
    case forgeCheck = "forge-check"
    case forgeOldCheck = "forge-old-check"
    case forgeMedia = "forge-media"
    case replayHandshake = "replay-handshake"
    case replayMedia = "replay-media"
    case forgeMessage = "forge-message"
    case forgeJunk = "forge-junk"
}

/// The budgets and patiences that a fault can be anchored at, by the names of `TransportLimits`.
package enum FaultDeadline: String, Hashable, Sendable, CaseIterable {
    case lineBudget
    case mediaPathBudget
    case connectingBudget
    case webSocketActiveBudget
    case checkPatience
    case handshakePatience
    case mediaPatience
    case uplinkPatience
    case selectResend
    case selectTimeout
    case recoveryWindow
    case closedCarriageGrace
}
