#!/usr/bin/env python3
"""Headless Chromium holds a call whose page restarts ICE as soon as the connection is lost, and again until it is back; what it
saw is the report: the states of the connection with their times, and the restarts."""
import argparse
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "Tests" / "Interop"))
import browser  # noqa: E402
import peer_chromium  # noqa: E402
import tone  # noqa: E402

# Seconds a restart gets before the next one.
PATIENCE = 2
KEEP = """
async function keep(peer, line, seconds, result) {
    const began = performance.now();
    const isLost = () => ["disconnected", "failed"].includes(peer.iceConnectionState);
    let isRestarting = false;
    Object.assign(result, { states: [], restarts: 0 });
    async function restart() {
        if (isRestarting) return;
        isRestarting = true;
        while (isLost()) {
            const again = await peer.createOffer({ iceRestart: true });
            const ufrag = attribute(again.sdp, "ice-ufrag");
            line.send("restart", { ufrag, sdp: again.sdp });
            await peer.setLocalDescription(again);
            const restarted = await line.expect("restarted", (m) => m.ufrag === ufrag);
            await peer.setRemoteDescription({ type: "answer", sdp: restarted.sdp });
            result.restarts += 1;
            await pause(PATIENCE);
        }
        isRestarting = false;
    }
    peer.addEventListener("iceconnectionstatechange", () => {
        result.states.push([Math.round(performance.now() - began), peer.iceConnectionState]);
        restart().catch((error) => { result.restart_error = String(error); });
    });
    await pause(seconds);
}
""".replace("PATIENCE", str(PATIENCE))


def main():
    parser = argparse.ArgumentParser()
    for name in ("--line", "--ca", "--report"):
        parser.add_argument(name, required=True)
    parser.add_argument("--endpoint", type=int, required=True)
    parser.add_argument("--talk", type=float, required=True)
    options = parser.parse_args()
    script = browser.SCRIPT.replace("await pause(talk);", "await keep(peer, line, talk, result);", 1)
    if script == browser.SCRIPT:
        sys.exit("error: browser.js is not what it was")
    browser.SCRIPT = KEEP + script
    directory = tempfile.mkdtemp()
    page = None
    try:
        page = peer_chromium.Chromium(options, directory, time.monotonic() + options.talk + 30)
        wanted = {
            "url": options.line, "name": "chromium", "version": page.version, "hangUpHere": False, "tones": tone.TONES,
            "level": tone.LEVEL, "talk": options.talk,
        }
        result = json.loads(page.call(wanted, lambda: os.kill(options.endpoint, signal.SIGTERM)))
        for audio in ("first", "rest"):
            result.pop(audio)
        pathlib.Path(options.report).write_text(json.dumps(result | {"version": page.version}))
    finally:
        if page:
            page.close()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
