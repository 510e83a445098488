#!/usr/bin/env python3
"""GStreamer's webrtcbin calls the endpoint."""
import asyncio
import pathlib

import caller
import gi
import numpy
import tone

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import Gst, GstSdp, GstWebRTC  # noqa: E402

SAY = f"""
    webrtcbin name=peer bundle-policy=max-bundle
    audiotestsrc name=tone is-live=true wave=sine volume={tone.LEVEL} samplesperbuffer=960
    ! audio/x-raw,rate=48000,channels=1 ! opusenc ! rtpopuspay pt=111
    ! application/x-rtp,media=audio,encoding-name=OPUS,payload=111 ! peer.
"""
HEAR = """
    rtpopusdepay ! opusdec ! audioconvert ! audioresample ! audio/x-raw,format=S16LE,rate=48000,channels=1
    ! appsink name=hear emit-signals=true sync=false
"""


class Peer:
    def __init__(self):
        Gst.init(None)
        self.version = Gst.version_string().split()[-1]
        self.cannot_restart = None
        self.loop = asyncio.get_running_loop()
        self.heard = asyncio.Event()
        self.meter = tone.ToneMeter(tone.LEVEL * tone.ECHO_GAIN)
        self.candidates = asyncio.Queue()
        self.pipeline = Gst.parse_launch(SAY)
        self.peer = self.pipeline.get_by_name("peer")
        self.peer.connect("on-ice-candidate", self.candidate)
        self.peer.connect("pad-added", self.listen)
        self.pipeline.set_state(Gst.State.PLAYING)
        self.turning = asyncio.create_task(self.turn())

    async def turn(self):
        """Changes the tone each second, and gives the bus's errors."""
        source, bus, second = self.pipeline.get_by_name("tone"), self.pipeline.get_bus(), 0
        while True:
            source.set_property("freq", tone.TONES[second % 2])
            while message := bus.pop_filtered(Gst.MessageType.ERROR):
                print("bus:", *message.parse_error())
            await asyncio.sleep(1)
            second += 1

    # These three are called on GStreamer's threads.

    def candidate(self, _, section, candidate):
        self.loop.call_soon_threadsafe(self.candidates.put_nowait, candidate)

    def listen(self, _, pad):
        if pad.get_direction() != Gst.PadDirection.SRC:
            return
        branch = Gst.parse_bin_from_description(HEAR, True)
        branch.get_by_name("hear").connect("new-sample", self.hear)
        self.pipeline.add(branch)
        branch.sync_state_with_parent()
        pad.link(branch.get_static_pad("sink"))

    def hear(self, sink):
        buffer = sink.emit("pull-sample").get_buffer()
        samples = numpy.frombuffer(buffer.extract_dup(0, buffer.get_size()), "<i2")
        self.loop.call_soon_threadsafe(self.take, samples)
        return Gst.FlowReturn.OK

    def take(self, samples):
        self.heard.set()
        self.meter.feed(samples)

    async def ask(self, signal, *arguments):
        """Emits a signal that answers by a promise; the answer's structure or None."""
        promise = Gst.Promise.new()
        self.peer.emit(signal, *arguments, promise)
        if await asyncio.wait_for(asyncio.to_thread(promise.wait), caller.STEP) != Gst.PromiseResult.REPLIED:
            raise RuntimeError(f"{signal} was not answered")
        reply = promise.get_reply()
        # The answer belongs to the promise.
        return reply and reply.copy()

    async def offer(self, restart):
        options = None
        if restart:
            options = Gst.Structure.new_empty("options")
            options.set_value("ice-restart", True)
        # The offer lives in the answer.
        answer = await self.ask("create-offer", options)
        offer = answer.get_value("offer")
        await self.ask("set-local-description", offer)
        return offer.sdp.as_text()

    async def answer(self, sdp):
        result, message = GstSdp.SDPMessage.new_from_text(sdp)
        assert result == GstSdp.SDPResult.OK, result
        answer = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, message)
        await self.ask("set-remote-description", answer)

    async def facts(self):
        stats = await self.ask("get-stats", None)
        texts = [stats.get_value(stats.nth_field_name(at)) for at in range(stats.n_fields())]
        pathlib.Path("/tmp/interop-gst-stats").write_text("\n".join(t.to_string() for t in texts if isinstance(t, Gst.Structure)))
        return {}

    async def close(self):
        self.turning.cancel()
        await asyncio.to_thread(self.pipeline.set_state, Gst.State.NULL)


if __name__ == "__main__":
    caller.run("gstreamer", Peer)
