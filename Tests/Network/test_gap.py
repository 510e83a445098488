import unittest

from gap import judge
from watch import Packet


def media(at, way="in", kind="rtp"):
    return Packet(at, way, "192.0.2.2:5000", "192.0.2.1:4000", kind, "-", "-")


class GapTests(unittest.TestCase):
    def test_the_longest_gap_counts_whichever_carriage_ends_it(self):
        packets = [media(9.98), media(10.0), media(10.35, kind="tcp"), media(10.37)]
        found, wrong = judge(packets, 10.0, 0.4)
        self.assertEqual((found, wrong), ("longest gap on the client's wire 350 ms", []))
        self.assertEqual(len(judge(packets, 10.0, 0.3)[1]), 1)

    def test_what_the_client_sends_and_checks_fill_no_gap(self):
        packets = [media(10.0), media(10.2, way="out"), media(10.3, kind="check"), media(10.6)]
        self.assertEqual(judge(packets, 10.0, 1)[0], "longest gap on the client's wire 600 ms")

    def test_the_beginning_of_the_call_is_no_gap(self):
        packets = [media(1.0), media(8.0), media(9.5), media(10.0), media(10.1)]
        self.assertEqual(judge(packets, 10.0, 1), ("longest gap on the client's wire 500 ms", []))

    def test_a_call_that_never_comes_back_is_wrong(self):
        self.assertEqual(len(judge([media(9.9), media(9.92)], 10.0, 1)[1]), 1)


if __name__ == "__main__":
    unittest.main()
