#!/usr/bin/env python3
"""GStreamer's webrtcbin calls the endpoint."""
import asyncio
import re

import caller
import gi
import numpy
import tone

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
gi.require_version("Nice", "0.1")
from gi.repository import Gst, GstSdp, GstWebRTC, Nice  # noqa: E402

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
        # The offer lives in the answer.
        answer = await self.ask("create-offer", None)
        offer = answer.get_value("offer")
        if restart:
            offer = description(GstWebRTC.WebRTCSDPType.OFFER, self.restarted(offer.sdp.as_text()))
        await self.ask("set-local-description", offer)
        return offer.sdp.as_text()

    def restarted(self, sdp):
        """The offer with new credentials: webrtcbin 1.22 has no restart of its own, its ICE agent has."""
        # The property's getter gives a reference away that webrtcbin still needs.
        self.ice = self.peer.get_property("ice-agent")
        agent = self.ice.get_property("agent")
        if not agent.restart():
            raise RuntimeError("libnice does not restart")
        done, ufrag, password = agent.get_local_credentials(1)
        assert done
        sdp = re.sub(r"(?m)^a=ice-ufrag:.*$", lambda _: f"a=ice-ufrag:{ufrag}", sdp)
        return re.sub(r"(?m)^a=ice-pwd:.*$", lambda _: f"a=ice-pwd:{password}", sdp)

    async def answer(self, sdp):
        await self.ask("set-remote-description", description(GstWebRTC.WebRTCSDPType.ANSWER, sdp))

    async def facts(self):
        stats = await self.ask("get-stats", None)
        values = [stats.get_value(stats.nth_field_name(at)) for at in range(stats.n_fields())]
        streams = {v.get_name(): v for v in values if isinstance(v, Gst.Structure)}
        inbound, there = streams["inbound-rtp"], streams["remote-inbound-rtp"]
        return {
            "received": inbound.get_value("packets-received"), "lost": inbound.get_value("packets-lost"),
            "lost_there": there.get_value("packets-lost"),
        }

    async def close(self):
        self.turning.cancel()
        await asyncio.to_thread(self.pipeline.set_state, Gst.State.NULL)


def description(kind, sdp):
    result, message = GstSdp.SDPMessage.new_from_text(sdp)
    assert result == GstSdp.SDPResult.OK, result
    return GstWebRTC.WebRTCSessionDescription.new(kind, message)


if __name__ == "__main__":
    caller.run("gstreamer", Peer)
