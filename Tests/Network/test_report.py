"""Tests of report.py: python3 -m unittest discover -s Tests/Network"""
import unittest

from report import judge

REPORT = {
    "aborted": False,
    "call": {"transport": "webrtc", "transportFallbackReason": None, "outcome": {"reason": "local"}},
    "media": {"level_correlation": 0.97, "frames_present_pct": None},
}


def wrong(*expectations):
    return judge(REPORT, expectations)[1]


class JudgeTests(unittest.TestCase):
    def test_what_is_as_expected_is_told_and_nothing_is_wrong(self):
        found, differing = judge(
            REPORT,
            ["call.transport=webrtc", "call.transportFallbackReason=none", "aborted=false", "call.outcome.reason=local"],
        )
        self.assertEqual(differing, [])
        self.assertEqual(found, ["transport webrtc", "transportFallbackReason none", "aborted false", "reason local"])

    def test_another_word_is_wrong(self):
        self.assertEqual(wrong("call.transport=websocket"), ["call.transport is webrtc, not websocket"])
        self.assertEqual(wrong("aborted=true"), ["aborted is false, not true"])

    def test_limits_hold_at_their_own_value_and_not_past_it(self):
        self.assertEqual(wrong("media.level_correlation>=0.97", "media.level_correlation<=0.97"), [])
        self.assertEqual(
            wrong("media.level_correlation>=0.971"), ["media.level_correlation is 0.97, not >=0.971"])
        self.assertEqual(len(wrong("media.level_correlation<=0.969")), 1)

    def test_an_unknown_is_within_no_limit(self):
        self.assertEqual(len(wrong("media.frames_present_pct>=0")), 1)
        self.assertEqual(len(wrong("media.frames_present_pct<=100")), 1)

    def test_a_word_is_within_no_limit(self):
        self.assertEqual(len(wrong("call.transport>=0")), 1)

    def test_a_key_that_is_not_there_is_wrong(self):
        self.assertEqual(wrong("media.loss=none", "call.transport.more=1"), ["media.loss is missing", "call.transport.more is missing"])

    def test_an_expectation_that_cannot_be_read_is_an_error(self):
        with self.assertRaises(ValueError):
            wrong("call.transport")


if __name__ == "__main__":
    unittest.main()
