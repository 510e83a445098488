"""Tests of moved.py and watch.py: python3 -m unittest discover -s Tests/Network"""
import socket
import unittest

from answered import judge as judge_answers
from moved import judge as judge_within
from watch import datagram, kind, read, transaction

OLD, NEW = "192.0.2.254:40000", "192.0.2.254:50000"


def judge(packets, check_limit=1.0):
    return judge_within(packets, check_limit, 0.060)


def call(check_at=1.5, moved_at=1.51, extra=()):
    """Media both ways for 2 s, 20 ms apart; from 1 s on from NEW, sent there from `moved_at` on."""
    lines = [(0.0, "in", OLD, "check", "s:c"), (check_at, "in", NEW, "check", "s:c"), *extra]
    for index in range(100):
        at = index / 50
        lines.append((at, "in", OLD if at < 1 else NEW, "rtp", "-"))
        lines.append((at + 0.005, "out", OLD if at + 0.005 < moved_at else NEW, "rtp", "-"))
    return written(*sorted(lines))


def written(*lines, local="192.0.2.1:1"):
    """What watch.py would have written: lines of time, way, remote, kind, username."""
    return read(f"{at} {way} {local} {rest[0]} {rest[1]} {rest[2]} -" for at, way, *rest in lines)


class MovedTests(unittest.TestCase):
    def test_a_move_with_the_first_check_is_right(self):
        found, wrong = judge(call())
        self.assertEqual(wrong, [])
        self.assertIn("first check 500 ms after the first packet", found)

    def test_a_late_move_is_wrong_and_so_is_what_went_to_the_old_address_meanwhile(self):
        wrong = judge(call(moved_at=1.7))[1]
        self.assertEqual(len(wrong), 2, wrong)

    def test_a_check_that_is_too_late_is_wrong(self):
        self.assertEqual(len(judge(call(), check_limit=0.4)[1]), 1)

    def test_a_move_without_a_check_is_wrong(self):
        self.assertEqual(len(judge(call(check_at=1.5, moved_at=1.2))[1]), 1)

    def test_a_handshake_after_the_change_is_wrong(self):
        self.assertEqual(len(judge(call(extra=[(1.6, "in", NEW, "handshake", "-")]))[1]), 1)
        self.assertEqual(judge(call(extra=[(0.1, "in", OLD, "handshake", "-")]))[1], [])

    def test_media_that_waits_for_more_than_the_first_check_is_wrong(self):
        checks = [(1.501, "in", NEW, "check", "s:c"), (1.502, "in", NEW, "check", "s:c")]
        self.assertEqual(judge(call(extra=checks[:1]))[1], [])
        self.assertEqual(len(judge(call(extra=checks))[1]), 1)

    def test_other_credentials_are_wrong(self):
        self.assertEqual(len(judge(call(extra=[(1.8, "in", NEW, "check", "s2:c2")]))[1]), 1)

    def test_a_second_move_and_none_are_wrong(self):
        self.assertEqual(len(judge(call(extra=[(1.9, "in", "192.0.2.253:1", "rtp", "-")]))[1]), 1)
        self.assertEqual(len(judge(p for p in call() if p.remote == OLD)[1]), 1)

    def test_an_address_that_is_never_checked_or_never_sent_to_is_wrong(self):
        self.assertEqual(len(judge(p for p in call() if (p.remote, p.kind) != (NEW, "check"))[1]), 1)
        self.assertEqual(len(judge(p for p in call() if (p.remote, p.way) != (NEW, "out"))[1]), 1)


class AnsweredTests(unittest.TestCase):
    def lines(self, *changes):
        lines = """
            1 in 192.0.2.1:5 203.0.113.2:6 check s:c aa
            2 out 192.0.2.1:5 203.0.113.2:6 answer - aa
            3 in 198.51.100.1:5 203.0.113.2:6 check s:c bb
            4 out 198.51.100.1:5 203.0.113.2:6 answer - bb
            5 in 192.0.2.1:5 203.0.113.2:6 rtp - -
            6 out 192.0.2.1:5 203.0.113.2:6 rtp - -
        """
        for old, new in changes:
            lines = lines.replace(old, new)
        return judge_answers(read(line for line in lines.splitlines() if line.strip()), ["192.0.2.1", "198.51.100.1"])

    def test_answers_from_where_the_check_came_to_are_right(self):
        found, wrong = self.lines()
        self.assertEqual(wrong, [])
        self.assertIn("198.51.100.1 answered 1 of 1 checks", found)

    def test_an_answer_from_the_other_address_is_wrong(self):
        self.assertTrue(self.lines(("out 198.51.100.1:5 203.0.113.2:6 answer", "out 192.0.2.1:5 203.0.113.2:6 answer"))[1])

    def test_an_answer_nobody_asked_for_is_wrong(self):
        self.assertTrue(self.lines(("answer - bb", "answer - cc"))[1])

    def test_an_address_without_checks_and_one_that_does_not_answer_are_wrong(self):
        self.assertTrue(self.lines(("198.51.100.1:5", "198.51.100.7:5"))[1])
        self.assertTrue(self.lines(("answer - bb", "other - bb"))[1])

    def test_media_from_an_address_that_no_check_came_to_is_wrong_and_so_is_none(self):
        self.assertTrue(self.lines(("out 192.0.2.1:5 203.0.113.2:6 rtp", "out 192.0.2.9:5 203.0.113.2:6 rtp"))[1])
        self.assertTrue(self.lines(("rtp", "rtcp"))[1])


class WatchTests(unittest.TestCase):
    def test_datagrams_are_told_apart_by_their_first_bytes(self):
        check = bytes.fromhex("000100102112a442") + bytes(12) + bytes.fromhex("0006000373 3a63 00 8022 0000")
        self.assertEqual(kind(check), ("check", "s:c"))
        self.assertEqual(kind(bytes.fromhex("010100002112a442") + bytes(12)), ("answer", None))
        self.assertEqual(transaction(check), bytes(12).hex())
        self.assertIsNone(transaction(b"\x80" + check[1:]))
        self.assertIsNone(transaction(check[:19]))
        self.assertEqual(kind(b"\x16\xfe\xfd"), ("handshake", None))
        self.assertEqual(kind(b"\x17\xfe\xfd"), ("dtls", None))
        self.assertEqual(kind(b"\x80\x6f"), ("rtp", None))
        self.assertEqual(kind(b"\x80\xef"), ("rtp", None))
        self.assertEqual(kind(b"\x80\xc8"), ("rtcp", None))
        self.assertEqual(kind(b""), ("other", None))

    def test_udp_over_ipv4_is_read_and_nothing_else(self):
        packet = bytes.fromhex("45000020000000004011 0000") + bytes([192, 0, 2, 1, 192, 0, 2, 2])
        packet += bytes.fromhex("00010002000c0000") + b"four" + b"padding"
        self.assertEqual(datagram(packet), (("192.0.2.1", 1), ("192.0.2.2", 2), b"four"))
        tcp = packet[:9] + bytes([socket.IPPROTO_TCP]) + packet[10:]
        for other in (tcp, b"\x65" + packet[1:], packet[:27], b""):
            self.assertIsNone(datagram(other))


if __name__ == "__main__":
    unittest.main()
