"""A browser's call to the endpoint: the page's part is browser.js, this runs it and judges what was heard."""
import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import caller
import numpy
import tone

SCRIPT = pathlib.Path(__file__).with_name("browser.js").read_text()


class Browser:
    """A browser's processes, in a session of their own, with a directory of their own; both are gone after `close`."""

    def __init__(self, command, directory, **more):
        self.log = pathlib.Path(directory, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command], start_new_session=True, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=os.environ | {"HOME": directory, "XDG_RUNTIME_DIR": directory}, **more)

    def close(self):
        for end in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, end)
                self.process.wait(3)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass


def page(directory):
    file = pathlib.Path(directory, "page.html")
    file.write_text("<!doctype html><title>call</title>")
    return file.as_uri()


def samples(text):
    return numpy.frombuffer(base64.b64decode(text), "<i2")


def place(name, start, options, directory):
    """`start(options, directory, deadline)` gives a browser with `version`, `call(wanted, hang_up)` and `close`."""
    deadline = time.monotonic() + caller.WHOLE_CALL
    browser = start(options, directory, deadline)
    try:
        wanted = {
            "url": options.line, "name": name, "version": browser.version, "hangUpHere": options.hang_up == "peer",
            "tones": tone.TONES, "level": tone.LEVEL, "talk": caller.TALK_SECONDS,
        }
        result = json.loads(browser.call(wanted, lambda: os.kill(options.endpoint, signal.SIGTERM)))
    finally:
        browser.close()
    meter = tone.ToneMeter(tone.LEVEL * tone.ECHO_GAIN)
    meter.feed(samples(result.pop("first")))
    result["verified_first"] = meter.verified
    before = sum(meter.seconds.values())
    meter.feed(samples(result.pop("rest")))
    result |= {"verified": meter.verified, "markers": meter.markers}
    if options.hang_up == "peer":
        result["verified_after_restart"] = round(sum(meter.seconds.values()) - before, 2)
    return {"version": browser.version} | result


def run(name, start):
    """The main program of a browser."""
    options = caller.arguments(name)
    directory = tempfile.mkdtemp()
    try:
        caller.report(options, place(name, start, options, directory))
    except Exception:
        traceback.print_exc()
        log = pathlib.Path(directory, "log")
        print(log.read_text(errors="replace")[-2000:] if log.exists() else "no log", file=sys.stderr)
        sys.exit(1)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
