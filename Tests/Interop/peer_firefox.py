#!/usr/bin/env python3
"""Headless Firefox calls the endpoint; driven by WebDriver BiDi."""
import contextlib
import json
import pathlib
import re
import time

import browser
from websockets.sync.client import connect

PREFERENCES = {
    "media.autoplay.default": 0, "media.autoplay.blocking_policy": 0, "media.peerconnection.ice.default_address_only": False,
    "app.update.enabled": False, "datareporting.policy.dataSubmissionEnabled": False, "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False, "browser.shell.checkDefaultBrowser": False,
}


# Without a device to play to, Firefox's audio stands still: a sound server that has a null one, in the same session.
START = """
pulseaudio -n --exit-idle-time=-1 --load=module-null-sink --load=module-native-protocol-unix &
for _ in {1..100}; do
    [[ ! -S $XDG_RUNTIME_DIR/pulse/native ]] || break
    sleep 0.1
done
exec firefox-esr "$@"
"""


class Firefox(browser.Browser):
    """One page."""

    def __init__(self, options, directory, deadline):
        profile = pathlib.Path(directory, "profile")
        profile.mkdir()
        lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items())
        (profile / "user.js").write_text("".join(lines))
        flags = ["--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
        super().__init__(["bash", "-c", START, "firefox", *flags], directory)
        self.open = contextlib.ExitStack()
        self.sent = 0
        self.called = None
        self.deadline = deadline
        try:
            self.socket = self.open.enter_context(connect(f"{self.address()}/session", max_size=None, proxy=None))
            # Its certificate is the endpoint's own.
            capabilities = {"alwaysMatch": {"acceptInsecureCerts": True}}
            self.version = self.ask("session.new", capabilities=capabilities)["capabilities"]["browserVersion"]
            self.ask("session.subscribe", events=["script.message"])
            self.page = self.ask("browsingContext.getTree")["contexts"][0]["context"]
            self.ask("browsingContext.navigate", context=self.page, url=browser.page(directory), wait="complete")
        except BaseException:
            self.close()
            raise

    def close(self):
        self.open.close()
        super().close()

    def address(self):
        while time.monotonic() < self.deadline and self.process.poll() is None:
            if found := re.search(r"BiDi listening on (ws://\S+)", self.log.read_text(errors="replace")):
                return found[1]
            time.sleep(0.1)
        raise TimeoutError("Firefox does not listen")

    def ask(self, method, **parameters):
        """A command's result. Calls from the page meanwhile go to `called`."""
        self.sent += 1
        self.socket.send(json.dumps({"id": self.sent, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv(timeout=max(0, self.deadline - time.monotonic())))
            if answer.get("method") == "script.message":
                self.called()
            if answer.get("id") == self.sent:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer}")
                return answer["result"]

    def call(self, wanted, hang_up):
        self.called = hang_up
        function = f"hangUp => {{ {browser.SCRIPT}\nreturn call({{...{json.dumps(wanted)}, hangUp}}).then(JSON.stringify); }}"
        answer = self.ask(
            "script.callFunction", functionDeclaration=function, awaitPromise=True, target={"context": self.page},
            userActivation=True, arguments=[{"type": "channel", "value": {"channel": "hangUp"}}])
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"]["value"]


if __name__ == "__main__":
    browser.run("firefox", Firefox)
