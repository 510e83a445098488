import unittest

import numpy
from tone import ECHO_DELAY, ECHO_GAIN, LEVEL, RATE, ToneMeter, marker, to_int16, tone


def measured(samples, level=LEVEL):
    meter = ToneMeter(level)
    # In pieces that fit no window.
    for start in range(0, len(samples), 959):
        meter.feed(samples[start : start + 959])
    return meter


class ToneMeterTests(unittest.TestCase):
    def test_the_tone_is_verified_nearly_whole(self):
        meter = measured(tone(0, 4 * RATE))
        self.assertGreaterEqual(meter.verified, 3.8)
        self.assertEqual(meter.markers, 0)

    def test_the_echo_with_its_markers_is_verified_at_its_own_level_only(self):
        said = tone(0, 4 * RATE) / 32_768
        echo = to_int16(numpy.concatenate([numpy.zeros(ECHO_DELAY), ECHO_GAIN * said]) + marker(0, ECHO_DELAY + 4 * RATE))
        meter = measured(echo, LEVEL * ECHO_GAIN)
        self.assertGreaterEqual(meter.verified, 3.4)
        self.assertEqual(meter.markers, 5)
        self.assertEqual(measured(echo).verified, 0)

    def test_one_tone_that_never_changes_is_not_ours(self):
        self.assertEqual(measured(numpy.tile(tone(0, RATE), 4)).verified, 0)

    def test_silence_noise_and_another_tone_are_not_verified(self):
        noise = to_int16(numpy.random.default_rng(1).normal(0, LEVEL / 2, 2 * RATE))
        other = to_int16(LEVEL * numpy.sin(2 * numpy.pi * 550 * numpy.arange(2 * RATE) / RATE))
        for samples in (numpy.zeros(2 * RATE, numpy.int16), noise, other):
            self.assertEqual(sum(measured(samples).seconds.values()), 0)


if __name__ == "__main__":
    unittest.main()
