#!/usr/bin/env python3
"""Headless Chromium calls the endpoint: a page of its own, driven by the DevTools protocol over a pipe."""
import base64
import hashlib
import json
import os
import pathlib
import re
import select
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time

import caller
import numpy
import tone
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


class Chromium:
    """One browser with one page, by messages that end in a zero byte on file descriptors 3 (to it) and 4 (from it)."""

    def __init__(self, flags, directory):
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        # First to numbers out of the way: any of the four may already be 3 or 4.
        ends = [os.dup2(fd, 100 + at, inheritable=True) for at, fd in enumerate((to_read, back_write))]
        command = ["setpriv", "--pdeathsig", "KILL", "chromium", *flags, f"--user-data-dir={directory}/profile", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", 'exec "$@" 3<&100 4>&101', "chromium", *command], pass_fds=ends, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=open(f"{directory}/log", "wb"))
        for fd in (to_read, back_write, *ends):
            os.close(fd)
        self.buffer = b""
        self.sent = 0
        self.called = lambda name: None

    def ask(self, method, deadline, session=None, **parameters):
        """A command's result; TimeoutError at `deadline`. Calls from the page meanwhile go to `called`."""
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(deadline)
            if answer.get("method") == "Runtime.bindingCalled":
                self.called(answer["params"]["name"])
            if answer.get("id") == self.sent:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium says nothing")
            if not (more := os.read(self.back, 1 << 20)):
                raise ConnectionError("Chromium has ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def close(self):
        """Ends the browser's whole session of processes."""
        os.close(self.to)
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(3)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def key_hash(certificate):
    """What --ignore-certificate-errors-spki-list wants of a certificate."""
    key = x509.load_pem_x509_certificate(pathlib.Path(certificate).read_bytes()).public_key()
    return base64.b64encode(hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()).decode()


def samples(text):
    return numpy.frombuffer(base64.b64decode(text), "<i2")


def place(options, directory):
    deadline = time.monotonic() + caller.WHOLE_CALL
    flags = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
        "--autoplay-policy=no-user-gesture-required", f"--ignore-certificate-errors-spki-list={key_hash(options.ca)}",
    ]
    browser = Chromium(flags, directory)
    try:
        version = browser.ask("Browser.getVersion", deadline)["product"].split("/")[1]
        target = browser.ask("Target.createTarget", deadline, url=page(directory))["targetId"]
        session = browser.ask("Target.attachToTarget", deadline, targetId=target, flatten=True)["sessionId"]
        browser.ask("Runtime.enable", deadline, session)
        browser.ask("Runtime.addBinding", deadline, session, name="hangUp")
        browser.called = lambda _: os.kill(options.endpoint, signal.SIGTERM)
        script = pathlib.Path(__file__).with_name("chromium.js").read_text()
        wanted = {
            "url": options.line, "version": version, "hangUpHere": options.hang_up == "peer", "tones": tone.TONES,
            "level": tone.LEVEL, "talk": caller.TALK_SECONDS,
        }
        answer = browser.ask(
            "Runtime.evaluate", deadline, session, expression=f"{script}\ncall({json.dumps(wanted)})", awaitPromise=True,
            returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", answer))
        result = answer["result"]["value"]
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
    return {"version": version} | result


def page(directory):
    file = pathlib.Path(directory, "page.html")
    file.write_text("<!doctype html><title>call</title>")
    return file.as_uri()


if __name__ == "__main__":
    options = caller.arguments("chromium")
    directory = tempfile.mkdtemp()
    try:
        caller.report(options, place(options, directory))
    except Exception:
        log = pathlib.Path(directory, "log").read_text(errors="replace")
        print(re.sub(r"^.*(dbus|vaapi|gcm).*\n", "", log, flags=re.MULTILINE | re.IGNORECASE)[-3000:], file=sys.stderr)
        raise
    finally:
        shutil.rmtree(directory, ignore_errors=True)
