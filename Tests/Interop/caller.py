"""A whole call to the endpoint, whatever peer makes it: hello, welcome, trickle, select, selected, a restart, bye.

A peer has `version`, `heard` (an asyncio.Event, set at the first audio), `meter`, `candidates` (an asyncio.Queue of attribute
texts), `offer(restart)`, `answer(sdp)`, `facts()`, `close()`; `cannot_restart` says why, or is None.
"""
import argparse
import asyncio
import json
import os
import pathlib
import random
import signal
import sys
import traceback

from call_line import STEP, CallLine, attribute, audio, opus_payload_type

# Before a restart and after it.
TALK_SECONDS = 4
# Longest call, seconds.
WHOLE_CALL = 45


async def trickle(peer, line, ufrag):
    while True:
        await line.send("candidate", candidate=await peer.candidates.get(), ufrag=ufrag)


async def restart(peer, line, before):
    """An ICE restart; the task that trickles for it. `before` is the fragment that must not come again."""
    sdp = await peer.offer(restart=True)
    ufrag = attribute(sdp, "ice-ufrag")
    if ufrag == before:
        raise RuntimeError(f"the offer of a restart has the old credentials: {sdp}")
    trickling = asyncio.create_task(trickle(peer, line, ufrag))
    await line.send("restart", ufrag=ufrag, sdp=sdp)
    answer = await line.expect("restarted", ufrag=ufrag)
    await peer.answer(answer["sdp"])
    return trickling


async def place(peer, options):
    line = await CallLine.open(options.line, options.ca)
    loop = asyncio.get_running_loop()
    tasks = []
    try:
        sdp = await peer.offer(restart=False)
        ufrag = attribute(sdp, "ice-ufrag")
        began = loop.time()
        await line.send(
            "hello", version=1, call_id=f"interop-{os.getpid()}", preference="auto", transports=["webrtc", "websocket"],
            client={"sdk": options.peer, "version": peer.version, "app_version": "1", "platform": sys.platform},
            audio=audio(opus_payload_type(sdp), random.getrandbits(32)), liveness_ms=100, webrtc={"sdp": sdp})
        tasks.append(asyncio.create_task(trickle(peer, line, ufrag)))
        welcome = await line.expect("welcome")
        if "webrtc" not in welcome:
            raise RuntimeError(f"no answer: {welcome}")
        await peer.answer(welcome["webrtc"]["sdp"])
        await asyncio.wait_for(peer.heard.wait(), STEP)
        await line.send("select", epoch=1, transport="webrtc", fallback=None, heard_to=None)
        await line.expect("selected", epoch=1, heard=True)
        result = {"active_ms": round((loop.time() - began) * 1000)}
        await asyncio.sleep(TALK_SECONDS)
        result["verified_first"] = peer.meter.verified
        if options.hang_up == "peer":
            if peer.cannot_restart:
                result["restart"] = f"no: {peer.cannot_restart}"
            else:
                tasks.append(await restart(peer, line, ufrag))
                before = sum(peer.meter.seconds.values())
                await asyncio.sleep(TALK_SECONDS)
                result["verified_after_restart"] = round(sum(peer.meter.seconds.values()) - before, 2)
                result["restart"] = "yes"
        result |= await peer.facts()
        if options.hang_up == "peer":
            await line.send("bye", by="client")
            result["close_code"] = await line.end()
        else:
            os.kill(options.endpoint, signal.SIGTERM)
            bye = await line.expect("bye")
            result |= {"bye": bye, "close_code": await line.end()}
        return result | {"verified": peer.meter.verified, "markers": peer.meter.markers, "line_audio": line.binary}
    finally:
        for task in tasks:
            task.cancel()
        await line.socket.close()


def arguments(peer):
    parser = argparse.ArgumentParser()
    parser.add_argument("--line", required=True, help="the endpoint's URL")
    parser.add_argument("--ca", required=True, help="its certificate")
    parser.add_argument("--endpoint", type=int, required=True, help="its process: told to end where it has to hang up")
    parser.add_argument("--hang-up", choices=["peer", "endpoint"], required=True)
    parser.add_argument("--report", required=True, help="file for the result")
    options = parser.parse_args()
    options.peer = peer
    return options


def report(options, result):
    pathlib.Path(options.report).write_text(json.dumps({"peer": options.peer, "hang_up": options.hang_up} | result, indent=1))


def run(name, make_peer):
    """The main program of a peer that speaks the line by `CallLine`."""
    options = arguments(name)

    async def main():
        peer = make_peer()
        try:
            async with asyncio.timeout(WHOLE_CALL):
                report(options, {"version": peer.version} | await place(peer, options))
        finally:
            await asyncio.wait_for(peer.close(), STEP)

    try:
        asyncio.run(main())
    except Exception:
        traceback.print_exc()
        sys.exit(1)
