import ICELite
import Testing

@testable import Transport

@Suite("Call ids of an endpoint") struct CallIDsTests {
    private func at(_ seconds: Int64) -> Instant { .zero + .seconds(seconds) }

    /// Behind a class: the macros cannot call what changes a value.
    private final class Held {
        var ids = CallIDs(kept: .seconds(60))

        func take(_ entry: CallIDs.Entry, now: Instant) -> Bool { ids.take(entry, now: now) }
        func end(_ entry: CallIDs.Entry, now: Instant) { ids.end(entry, now: now) }
        var count: Int { ids.count }
    }

    private func entry(_ id: String, key: String? = nil) -> CallIDs.Entry { CallIDs.Entry(key: key, id: id) }

    @Test("An id is refused while its call lives and for a while after its end") func kept() {
        let ids = Held()
        #expect(ids.take(entry("a"), now: at(0)))
        #expect(!ids.take(entry("a"), now: at(1)))
        ids.end(entry("a"), now: at(10))
        #expect(!ids.take(entry("a"), now: at(69)))
        #expect(ids.take(entry("a"), now: at(70)))
        #expect(ids.count == 1)
    }

    @Test("Each key has ids of its own: nobody's call can be kept out, or found out, with another key") func perKey() {
        let ids = Held()
        #expect(ids.take(entry("a", key: "one"), now: at(0)))
        #expect(ids.take(entry("a", key: "two"), now: at(0)))
        #expect(!ids.take(entry("a", key: "one"), now: at(0)))
        ids.end(entry("a", key: "two"), now: at(1))
        #expect(!ids.take(entry("a", key: "one"), now: at(61)))
        #expect(ids.take(entry("a", key: "two"), now: at(61)))
    }

    @Test("Ended ids are bounded, the oldest forgotten first; what was not taken does not end") func bounded() {
        let ids = Held()
        for number in 0...CallIDs.endedLimit {
            #expect(ids.take(entry("\(number)"), now: at(0)))
            ids.end(entry("\(number)"), now: at(0))
        }
        ids.end(entry("never"), now: at(0))
        #expect(ids.count == CallIDs.endedLimit)
        #expect(ids.take(entry("0"), now: at(1)) && !ids.take(entry("1"), now: at(1)))
        #expect(ids.take(entry("never"), now: at(1)))
    }
}
