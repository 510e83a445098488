import contextlib
import copy
import io
import json
import pathlib
import tempfile
import unittest

import judge
import numpy
import tone

WIRE = {
    "checks": ["ours:them", "next:more"], "client": judge.THEIRS, "hello_fragments": 2, "hello_bytes": 1413,
    "offered_versions": ["1.3", "1.2"], "offered_profiles": ["AES128_CM_SHA1_80", "AEAD_AES_128_GCM"], "version": "1.2",
    "profile": "AEAD_AES_128_GCM", "cipher": "0xc02b",
}
CALLED = {
    "json": {
        "peer": "chromium", "version": "156", "hang_up": "peer", "restart": "yes", "active_ms": 30, "verified": 7.0,
        "verified_first": 3.4, "verified_after_restart": 3.5, "markers": 7, "line_audio": 0, "close_code": 1000,
        "peer_dtls": "DTLSv1.2", "peer_profile": "AEAD_AES_128_GCM", "received": 400, "lost": 0, "lost_there": 0,
    },
    "wire.json": WIRE,
    "log": "2026 interop-1 ended by the caller after 8.0 s, webrtc, 401 packets in, 402 out\n",
}
CALLING = {
    "json": {
        "call": {
            "transport": "webrtc", "transportFallbackReason": None, "fallback": None, "outcome": {"reason": "local"},
        },
        "setup": {"active_ms": 120.5}, "dtls": {"role": "server", "version": "DTLSv1.2"}, "media": {"lost": 0, "received": 250},
    },
    "peer.json": {
        "peer": "aiortc", "version": "1.16.0", "setup": "active", "bye_from": "client", "verified_there": 4.9,
        "hello_in_offer": True, "line_audio": 0, "lost": 0,
    },
    "wire.json": WIRE | {"checks": ["ours:them"]},
}
# What is changed of a good call, and a word of what has to be found.
BAD_CALLED = [
    ("json", {"verified_first": 1.0}, "of tone came back"), ("json", {"markers": 1}, "markers"),
    ("json", {"line_audio": 9}, "on the line"), ("json", {"close_code": 1006}, "closed with 1006"),
    ("json", {"verified_after_restart": 0.0}, "after the restart"), ("json", {"lost": 5}, "packets lost"),
    ("json", {"lost_there": 5}, "on the way to us"), ("json", {"received": 10}, "10 packets lost"),
    ("json", {"peer_dtls": "DTLSv1.3"}, "peer_dtls"), ("json", {"peer_profile": "AES128_CM_SHA1_80"}, "peer_profile"),
    ("json", {"restart": "no: none"}, "restart"), ("wire.json", {"checks": ["ours:them", "ours:more"]}, "restart"),
    ("wire.json", {"version": "1.3"}, "DTLS 1.3"), ("wire.json", {"profile": "AES128_CM_SHA1_80"}, "profile"),
    ("wire.json", {"client": judge.OURS}, "ClientHello"), ("wire.json", {"offered_profiles": []}, "profile"),
    ("log", "ended by this end after 8 s, webrtc, 1 packets", "endpoint"),
    ("log", "ended by the caller after 8 s, websocket, 1 packets", "endpoint"),
]
BAD_CALLING = [
    ("peer.json", {"verified_there": 0.0}, "came there"), ("peer.json", {"line_audio": 1}, "on the line there"),
    ("peer.json", {"bye_from": "server"}, "ended"), ("peer.json", {"setup": "passive"}, "ClientHello"),
    ("json", {"dtls": {"role": "client", "version": "DTLSv1.2"}}, "role"), ("json", {"media": {"lost": 9, "received": 250}}, "lost"),
    ("json", {"call": CALLING["json"]["call"] | {"transport": "websocket"}}, "websocket"), ("wire.json", {"version": "1.0"}, "1.0"),
]


def findings(kind, files, back=None):
    """Exit code and text of judge.py for these files."""
    with tempfile.TemporaryDirectory() as directory:
        for suffix, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            pathlib.Path(directory, f"call.{suffix}").write_text(text)
        if kind == "calling":
            tone.write_wave(f"{directory}/call.wav", echo() if back is None else back)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = judge.main(kind, directory, "call")
        return code, out.getvalue()


def echo():
    return tone.to_int16(tone.ECHO_GAIN * tone.tone(0, 4 * tone.RATE) / 32_768 + tone.marker(0, 4 * tone.RATE))


def changed(files, suffix, change):
    files = copy.deepcopy(files)
    files[suffix] = change if isinstance(change, str) else files[suffix] | change
    return files


class JudgeTests(unittest.TestCase):
    def test_good_calls_are_good(self):
        self.assertEqual(findings("called", CALLED), (0, ""))
        self.assertEqual(findings("calling", CALLING), (0, ""))

    def test_each_thing_that_can_be_wrong_is_found(self):
        for kind, good, cases in (("called", CALLED, BAD_CALLED), ("calling", CALLING, BAD_CALLING)):
            for suffix, change, word in cases:
                with self.subTest(kind=kind, change=change):
                    code, text = findings(kind, changed(good, suffix, change))
                    self.assertEqual(code, 1)
                    self.assertIn(word, text)

    def test_a_recording_without_the_tone_is_found(self):
        code, text = findings("calling", CALLING, back=numpy.zeros(4 * tone.RATE, numpy.int16))
        self.assertEqual(code, 1)
        self.assertIn("0.0 s of tone came back", text)

    def test_a_file_that_is_missing_is_found(self):
        for suffix in CALLED:
            code, text = findings("called", {k: v for k, v in CALLED.items() if k != suffix})
            self.assertEqual(code, 1, suffix)
            self.assertIn("no result", text)

    def test_a_peer_without_a_call_fails_the_table(self):
        with tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(io.StringIO()) as out:
            pathlib.Path(directory, judge.ROWS).write_text(json.dumps({"peer": "aiortc"}) + "\n")
            self.assertEqual(judge.main("table", directory, "aiortc"), 0)
            self.assertEqual(judge.main("table", directory, "aiortc", "chromium"), 1)
        self.assertIn("no call with chromium", out.getvalue())


if __name__ == "__main__":
    unittest.main()
