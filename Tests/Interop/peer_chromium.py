#!/usr/bin/env python3
"""Headless Chromium calls the endpoint; driven by the DevTools protocol over a pipe."""
import base64
import hashlib
import json
import os
import pathlib
import select
import time

import browser
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


class Chromium(browser.Browser):
    """One page. Messages end in a zero byte, on file descriptors 3 (to it) and 4 (from it)."""

    def __init__(self, options, directory, deadline):
        flags = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
            "--autoplay-policy=no-user-gesture-required", f"--ignore-certificate-errors-spki-list={key_hash(options.ca)}",
            f"--user-data-dir={directory}/profile", "about:blank",
        ]
        read, self.to = os.pipe()
        self.back, write = os.pipe()
        # By numbers out of the way: any of the four may be 3 or 4 itself.
        ends = [os.dup2(end, 100 + at) for at, end in enumerate((read, write))]
        super().__init__(
            ["bash", "-c", 'exec chromium "$@" 3<&100 4>&101', "chromium", *flags], directory, pass_fds=ends)
        for end in (read, write, *ends):
            os.close(end)
        self.buffer = b""
        self.sent = 0
        self.session = {}
        self.called = None
        self.deadline = deadline
        try:
            self.version = self.ask("Browser.getVersion")["product"].split("/")[1]
            target = self.ask("Target.createTarget", url=browser.page(directory))["targetId"]
            self.session = {"sessionId": self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
            self.ask("Runtime.enable")
            self.ask("Runtime.addBinding", name="hangUp")
        except BaseException:
            self.close()
            raise

    def ask(self, method, **parameters):
        """A command's result. Calls from the page meanwhile go to `called`."""
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters} | self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("method") == "Runtime.bindingCalled":
                self.called()
            if answer.get("id") == self.sent:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], max(0, self.deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium says nothing")
            if not (more := os.read(self.back, 1 << 20)):
                raise ConnectionError("Chromium has ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, wanted, hang_up):
        self.called = hang_up
        expression = f"{browser.SCRIPT}\ncall({{...{json.dumps(wanted)}, hangUp}}).then(JSON.stringify)"
        answer = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", answer))
        return answer["result"]["value"]


def key_hash(certificate):
    """What --ignore-certificate-errors-spki-list wants of a certificate."""
    key = x509.load_pem_x509_certificate(pathlib.Path(certificate).read_bytes()).public_key()
    info = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(info).digest()).decode()


if __name__ == "__main__":
    browser.run("chromium", Chromium)
