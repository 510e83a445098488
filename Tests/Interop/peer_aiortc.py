#!/usr/bin/env python3
"""aiortc calls the endpoint."""
import asyncio

import aiortc
import aiortc_audio
import caller
import tone


class Peer:
    version = aiortc.__version__
    cannot_restart = "aiortc has none"

    def __init__(self):
        self.heard = asyncio.Event()
        self.meter = tone.ToneMeter(tone.LEVEL * tone.ECHO_GAIN)
        # aiortc gathers before it has an offer.
        self.candidates = asyncio.Queue()
        self.connection = aiortc_audio.connection()
        self.connection.addTrack(aiortc_audio.Voice(tone.tone))
        self.connection.on("track", self.listen)

    def listen(self, track):
        self.listening = asyncio.create_task(aiortc_audio.listen(track, self.hear))

    def hear(self, samples):
        self.heard.set()
        self.meter.feed(samples)

    async def offer(self, restart):
        await self.connection.setLocalDescription(await self.connection.createOffer())
        return self.connection.localDescription.sdp

    async def answer(self, sdp):
        await self.connection.setRemoteDescription(aiortc.RTCSessionDescription(sdp, "answer"))

    async def facts(self):
        return await aiortc_audio.facts(self.connection)

    async def close(self):
        await self.connection.close()


if __name__ == "__main__":
    caller.run("aiortc", Peer)
