"""Tests of rungs.py: python3 -m unittest discover -s Tests/Network"""
import unittest

from rungs import judge, offer_to_media
from watch import read, segment

CLIENT, RELAY, DIALED, ENDPOINT = "127.0.0.1:1000", "127.0.0.1:2000", "127.0.0.1:1001", "127.0.0.1:3000"
SOCKET, UDP = "127.0.0.1:1002", "127.0.0.1:2001"


def call(begin, heard_after, shift=0):
    """A call whose hello is sent 0.2 s after `begin` and whose first media comes `heard_after` later."""
    port = lambda address: f"{address[:-1]}{int(address[-1]) + shift}"
    lines = []
    for index in range(3):
        at = begin + index * 0.1
        lines += [(at, port(CLIENT), RELAY, "tcp"), (at + 0.001, port(CLIENT), RELAY, "tcp")]
        lines += [(at + 0.05, port(DIALED), ENDPOINT, "tcp"), (at + 0.051, ENDPOINT, port(DIALED), "tcp")]
        lines += [(at + 0.099, RELAY, port(CLIENT), "tcp")]
    hello = begin + 0.2
    # The relay's own packets to the endpoint are not what the client hears.
    lines += [(hello + 0.1, port(SOCKET), UDP, "check"), (hello + 0.12, UDP, ENDPOINT, "rtp")]
    lines += [(hello + heard_after, UDP, port(SOCKET), "rtp")]
    return lines


def seen(*calls):
    lines = sorted(line for call in calls for line in call)
    return list(read(f"{at} {way} {a} {b} {kind} - -" for at, a, b, kind in lines for way in ("out", "in")))


class RungsTests(unittest.TestCase):
    def test_round_trips_are_counted_from_hello_to_the_first_media_the_client_gets(self):
        found, wrong = judge(seen(call(0, 0.205), call(10, 0.215, shift=5)), 2, 0.1, 2.2)
        self.assertEqual(wrong, [])
        self.assertEqual(found, "2 calls: 2.05 to 2.15 round trips, median 2.10")

    def test_a_median_above_the_limit_and_a_missing_call_are_wrong(self):
        self.assertEqual(judge(seen(call(0, 0.305)), 1, 0.1, 2.2)[1], ["the median is 3.05 round trips, limit 2.2"])
        self.assertEqual(judge(seen(call(0, 0.205)), 2, 0.1, 2.2)[1], ["1 calls were seen, not 2"])
        self.assertEqual(judge([], 1, 0.1, 2.2)[1], ["0 calls were seen, not 1"])

    def test_a_call_that_is_never_heard_is_wrong(self):
        quiet = [line for line in call(0, 0.205) if line[2] != SOCKET]
        self.assertIn("a call was never heard", judge(seen(quiet), 1, 0.1, 2.2)[1])


class DirectTests(unittest.TestCase):
    def seen(self, *media):
        """A call as the endpoint's interface shows it: way, local, remote."""
        client, ours, theirs, socket = "192.0.2.2:9", "192.0.2.1:1", "192.0.2.2:8", "192.0.2.1:2"
        lines = []
        for index in range(3):
            lines += [(index * 0.1, "in", ours, client, "tcp"), (index * 0.1 + 0.05, "out", ours, client, "tcp")]
        lines += [(0.22, "in", socket, theirs, "check"), *((at, way, socket, theirs, "rtp") for at, way in media)]
        return read(f"{at} {way} {a} {b} {kind} - -" for at, way, a, b, kind in sorted(lines))

    def test_it_is_from_hello_to_the_first_media_that_goes_to_the_client(self):
        # What the client itself sends is not what it hears.
        self.assertAlmostEqual(offer_to_media(self.seen((0.23, "in"), (0.25, "out"), (0.27, "out"))), 0.05)

    def test_a_call_that_is_never_heard_has_none(self):
        self.assertIsNone(offer_to_media(self.seen((0.23, "in"))))
        self.assertIsNone(offer_to_media([]))


class SegmentTests(unittest.TestCase):
    def packet(self, data=b"x", protocol=6):
        tcp = bytes.fromhex("03e807d0") + bytes(8) + bytes([5 << 4]) + bytes(7) + data
        header = bytes([0x45, 0]) + (20 + len(tcp)).to_bytes(2, "big") + bytes(5) + bytes([protocol]) + bytes(2)
        return header + bytes([127, 0, 0, 1, 127, 0, 0, 2]) + tcp

    def test_a_segment_with_data_names_its_ends(self):
        self.assertEqual(segment(self.packet()), (("127.0.0.1", 1000), ("127.0.0.2", 2000)))

    def test_nothing_else_does(self):
        # Padding of the link's behind a segment without data is none.
        for packet in (b"", self.packet(b""), self.packet(b"") + bytes(6), self.packet(protocol=17), self.packet()[:30]):
            self.assertIsNone(segment(packet))


if __name__ == "__main__":
    unittest.main()
