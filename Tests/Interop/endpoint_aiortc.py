#!/usr/bin/env python3
"""An endpoint of another make for our client: the call line over aiortc (a full ICE agent), with the probe's echo.

Takes one call, then ends. Answers DTLS active or passive, as told; what hello says beyond its offer is ignored.
"""
import argparse
import asyncio
import collections
import json
import pathlib
import ssl
import sys
import traceback

import aiortc
import aiortc_audio
import numpy
import tone
from aiortc.sdp import candidate_from_sdp
from call_line import STEP, SUBPROTOCOL, CallLine, attribute, audio, opus_payload_type
from websockets.asyncio.server import serve

WHOLE_CALL = 40


class Echo:
    """What is heard, 300 ms late and 6 dB down, with the marker; silence until `begin`."""

    def __init__(self):
        self.waiting = collections.deque()
        self.active = False
        self.position = 0

    def begin(self):
        self.active = True
        self.waiting.append(numpy.zeros(tone.ECHO_DELAY))

    def hear(self, samples):
        if self.active:
            self.waiting.append(samples / 32_768 * tone.ECHO_GAIN)

    def say(self, _, count):
        if not self.active:
            return numpy.zeros(count, numpy.int16)
        said = numpy.zeros(count)
        filled = 0
        while filled < count and self.waiting:
            piece = self.waiting.popleft()
            taken = piece[: count - filled]
            said[filled : filled + len(taken)] = taken
            filled += len(taken)
            if len(taken) < len(piece):
                self.waiting.appendleft(piece[len(taken) :])
        said += tone.marker(self.position, count)
        self.position += count
        return tone.to_int16(said)


class Endpoint:
    def __init__(self, options):
        self.options = options
        self.done = asyncio.get_running_loop().create_future()
        self.heard = asyncio.Event()
        # The client's tone as it says it.
        self.meter = tone.ToneMeter(tone.LEVEL)
        self.echo = Echo()
        self.connection = aiortc_audio.connection()
        self.sender = self.connection.addTrack(aiortc_audio.Voice(self.echo.say))
        self.connection.on("track", self.listen)

    def listen(self, track):
        self.listening = asyncio.create_task(aiortc_audio.listen(track, self.hear))

    def hear(self, samples):
        self.heard.set()
        self.echo.hear(samples)
        self.meter.feed(samples)

    async def take(self, socket):
        line = CallLine(socket)
        try:
            result = await self.call(line)
            if not self.done.done():
                self.done.set_result(result)
        except Exception as error:
            if not self.done.done():
                self.done.set_exception(error)
        finally:
            await socket.close()

    async def candidates(self, line, ufrag):
        """Takes the client's candidates as they come."""
        while line.closed is None:
            try:
                message = await line.expect("candidate", seconds=WHOLE_CALL, ufrag=ufrag)
            except ConnectionError:
                return
            if "candidate" in message:
                candidate = candidate_from_sdp(message["candidate"].removeprefix("candidate:"))
                candidate.sdpMid = self.connection.getTransceivers()[0].mid
                await self.connection.addIceCandidate(candidate)

    async def call(self, line):
        hello = await line.expect("hello")
        offer = hello["webrtc"]["sdp"]
        await self.connection.setRemoteDescription(aiortc.RTCSessionDescription(offer, "offer"))
        if self.options.setup == "passive":
            self.sender.transport._set_role("server")
        await self.connection.setLocalDescription(await self.connection.createAnswer())
        answer = self.connection.localDescription.sdp
        assert attribute(answer, "setup") == self.options.setup, answer
        trickling = asyncio.create_task(self.candidates(line, attribute(offer, "ice-ufrag")))
        try:
            await line.send(
                "welcome", version=1, session="interop", call_audio="auto", liveness_ms=100, webrtc={"sdp": answer},
                audio=audio(opus_payload_type(answer), self.sender._ssrc))
            select = await line.expect("select")
            await line.send("selected", epoch=select["epoch"], heard=self.heard.is_set())
            if select["transport"] != "webrtc":
                raise RuntimeError(f"the client did not select webrtc: {select}")
            if not self.heard.is_set():
                await asyncio.wait_for(self.heard.wait(), STEP)
                await line.send("selected", epoch=select["epoch"], heard=True)
            self.echo.begin()
            result = {"hello_in_offer": "dtls" in hello["webrtc"]}
            if self.options.hang_up_after:
                await asyncio.sleep(self.options.hang_up_after)
                result |= await aiortc_audio.facts(self.connection)
                await line.send("bye", by="server")
                await line.socket.close()
            else:
                talk = asyncio.create_task(line.expect("bye", seconds=WHOLE_CALL))
                while not talk.done():
                    # Asked for again and again: after the bye there may be nothing left to ask.
                    result |= await aiortc_audio.facts(self.connection)
                    await asyncio.wait([talk], timeout=0.5)
                result["bye"] = talk.result()
            result["close_code"] = await line.end()
            return result | {"verified_there": self.meter.verified, "line_audio": line.binary}
        finally:
            trickling.cancel()


async def main(options):
    endpoint = Endpoint(options)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(options.cert, options.cert_key)
    try:
        async with asyncio.timeout(WHOLE_CALL):
            async with serve(
                endpoint.take, options.bind, 0, ssl=tls, subprotocols=[SUBPROTOCOL], compression=None
            ) as server:
                print(f"READY line=wss://{options.bind}:{server.sockets[0].getsockname()[1]}/", flush=True)
                result = await endpoint.done
    finally:
        await asyncio.wait_for(endpoint.connection.close(), STEP)
    result = {
        "peer": "aiortc", "version": aiortc.__version__, "setup": options.setup,
        "bye_from": "server" if options.hang_up_after else "client",
    } | result
    pathlib.Path(options.report).write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bind", required=True)
    parser.add_argument("--cert", required=True)
    parser.add_argument("--cert-key", required=True)
    parser.add_argument("--setup", choices=["active", "passive"], required=True, help="the answer's DTLS role")
    parser.add_argument("--hang-up-after", type=float, help="seconds; else the client hangs up")
    parser.add_argument("--report", required=True, help="file for the result")
    try:
        asyncio.run(main(parser.parse_args()))
    except Exception:
        traceback.print_exc()
        sys.exit(1)
