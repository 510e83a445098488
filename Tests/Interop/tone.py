"""The tone the peers say, and a meter that tells whether it came back.

The tone is 440 Hz and 660 Hz in turns of a second, so that what comes back cannot be an old or a stuck one. 48 kHz, mono,
16 bit throughout.
"""
import wave

import numpy

RATE = 48_000
TONES = (440, 660)
MARKER = 1_000
# Peak of what is said, of full scale; the echo brings half of it back.
LEVEL = 0.25
ECHO_GAIN = 0.5
MARKER_LEVEL = 0.1
MARKER_SAMPLES = RATE // 20
ECHO_DELAY = RATE * 3 // 10


def tone(position, count):
    """`count` samples of the tone from sample `position` on."""
    at = numpy.arange(position, position + count)
    # Whole cycles a second: the turns join without a step.
    frequency = numpy.where(at // RATE % 2 == 0, TONES[0], TONES[1])
    return to_int16(LEVEL * numpy.sin(2 * numpy.pi * frequency * (at % RATE) / RATE))


def marker(position, count):
    """A burst of 50 ms each second, to be added; floating point."""
    at = numpy.arange(position, position + count) % RATE
    return MARKER_LEVEL * numpy.sin(2 * numpy.pi * MARKER * at / RATE) * (at < MARKER_SAMPLES)


def to_int16(samples):
    return (numpy.clip(samples, -1, 1) * 32_767).astype(numpy.int16)


def write_wave(file, samples):
    with wave.open(file, "wb") as output:
        output.setparams((1, 2, RATE, 0, "NONE", ""))
        output.writeframes(samples.astype("<i2").tobytes())


def read_wave(file):
    with wave.open(file, "rb") as source:
        assert (source.getnchannels(), source.getsampwidth(), source.getframerate()) == (1, 2, RATE), source.getparams()
        return numpy.frombuffer(source.readframes(source.getnframes()), "<i2")


class ToneMeter:
    """Listens in windows of 25 ms: which of the tones is there, alone and as loud as it should be, and the markers."""

    WINDOW = RATE // 40
    # Of a window's power without the marker's, the part that must be the tone's.
    PURITY = 0.8
    # The level may be off by 3 dB either way.
    TOLERANCE = 10 ** (3 / 20)

    def __init__(self, level):
        self.level = level
        self.windows = dict.fromkeys(TONES, 0)
        self.markers = 0
        self.heard = 0
        self.rest = numpy.zeros(0)
        self.marker_ended = -RATE
        self.fade = numpy.hanning(self.WINDOW + 1)[:-1]
        at = numpy.arange(self.WINDOW) / RATE
        self.probes = {f: self.fade * numpy.exp(-2j * numpy.pi * f * at) for f in (*TONES, MARKER)}

    def feed(self, samples):
        """Takes 16-bit samples."""
        samples = numpy.concatenate([self.rest, samples / 32_768])
        whole = len(samples) // self.WINDOW * self.WINDOW
        for start in range(0, whole, self.WINDOW):
            self.judge(samples[start : start + self.WINDOW])
        self.rest = samples[whole:]

    def judge(self, window):
        # Amplitudes of sines, by projection; and what a sine of the whole window's power would have.
        scale = 2 / self.fade.sum()
        found = {f: abs(numpy.dot(window, probe)) * scale for f, probe in self.probes.items()}
        power = 2 * numpy.dot((window * self.fade) ** 2, numpy.ones(self.WINDOW)) / (self.fade**2).sum()
        # A marker cut by the window's edge spreads: its windows are judged by the two tones alone.
        others = max(power - found[MARKER] ** 2, 1e-12)
        for f in TONES:
            pure = found[f] ** 2 >= self.PURITY * others
            if pure and self.level / self.TOLERANCE <= found[f] <= self.level * self.TOLERANCE:
                self.windows[f] += 1
        if found[MARKER] >= 0.6 * MARKER_LEVEL:
            if self.heard - self.marker_ended > RATE // 2:
                self.markers += 1
            self.marker_ended = self.heard
        self.heard += self.WINDOW

    @property
    def seconds(self):
        """Verified seconds of each tone."""
        return {f: count * self.WINDOW / RATE for f, count in self.windows.items()}

    @property
    def verified(self):
        """Verified seconds, provided that both tones came."""
        return round(sum(self.seconds.values()), 2) if all(self.windows.values()) else 0.0
