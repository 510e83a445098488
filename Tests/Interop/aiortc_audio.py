"""What aiortc's tracks need here: one that says what a function gives, and the listening to one."""
import asyncio
import fractions
import time

import av
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection
from aiortc.mediastreams import MediaStreamError
from tone import RATE

FRAME = RATE // 50


def connection():
    """A connection that asks no STUN server; by itself aiortc asks one on the Internet."""
    return RTCPeerConnection(RTCConfiguration(iceServers=[]))


class Voice(MediaStreamTrack):
    """Says `samples(position, count)`, 20 ms at a time."""

    kind = "audio"

    def __init__(self, samples):
        super().__init__()
        self.samples = samples
        self.position = 0
        self.began = None

    async def recv(self):
        if self.readyState != "live":
            raise MediaStreamError
        self.began = self.began or time.monotonic()
        await asyncio.sleep(max(0, self.began + self.position / RATE - time.monotonic()))
        # Both channels: made of one by aiortc they would be 3 dB down.
        samples = self.samples(self.position, FRAME).repeat(2).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(samples, "s16", "stereo")
        frame.sample_rate = RATE
        frame.pts, frame.time_base = self.position, fractions.Fraction(1, RATE)
        self.position += FRAME
        return frame


async def listen(track, hear):
    """Gives each frame of the track to `hear` as 16-bit mono samples, until it ends."""
    while True:
        try:
            frame = await track.recv()
        except MediaStreamError:
            return
        assert frame.sample_rate == RATE and frame.format.name == "s16", frame
        hear(frame.to_ndarray().reshape(-1, len(frame.layout.channels))[:, 0])


async def facts(connection):
    """What aiortc says of the connection: DTLS, profile, loss."""
    dtls = connection.getTransceivers()[0].sender.transport
    stats = (await connection.getStats()).values()
    return {
        "peer_dtls": dtls._ssl.get_protocol_version_name(),
        "peer_profile": dtls._ssl.get_selected_srtp_profile().decode(),
        "received": sum(s.packetsReceived for s in stats if s.type == "inbound-rtp"),
        "lost": sum(s.packetsLost for s in stats if s.type == "inbound-rtp"),
        "lost_there": sum(s.packetsLost for s in stats if s.type == "remote-inbound-rtp"),
    }
