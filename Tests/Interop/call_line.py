"""The call line's messages over a WebSocket, as both ends of it need them here."""
import asyncio
import json
import re
import ssl

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

SUBPROTOCOL = "graine.call.v1"
OPUS = "opus/48000/2"
# No single step of a call takes longer.
STEP = 10


def audio(payload_type, ssrc):
    return {"codecs": [OPUS], "payload_types": {OPUS: payload_type}, "ssrc": ssrc, "ptime": 20, "red": []}


def attribute(sdp, name):
    """The first `a=name:` of a description."""
    found = re.search(rf"^a={name}:(.*?)\r?$", sdp, re.MULTILINE)
    if not found:
        raise ValueError(f"no a={name} in {sdp}")
    return found[1]


def opus_payload_type(sdp):
    return int(re.search(r"^a=rtpmap:(\d+) opus/48000/2", sdp, re.MULTILINE | re.IGNORECASE)[1])


class CallLine:
    """One line, either end. A task reads; `expect` takes out what came."""

    def __init__(self, socket):
        self.socket = socket
        self.inbox = []
        self.changed = asyncio.Condition()
        self.closed = None
        self.binary = 0
        self.reader = asyncio.create_task(self.read())

    @classmethod
    async def open(cls, url, ca):
        trust = ssl.create_default_context(cafile=ca)
        socket = await connect(url, ssl=trust, subprotocols=[SUBPROTOCOL], compression=None, open_timeout=STEP, proxy=None)
        assert socket.subprotocol == SUBPROTOCOL, socket.subprotocol
        return cls(socket)

    async def read(self):
        try:
            async for message in self.socket:
                if isinstance(message, bytes):
                    self.binary += 1
                else:
                    async with self.changed:
                        self.inbox.append(json.loads(message))
                        self.changed.notify_all()
        except ConnectionClosed:
            pass
        async with self.changed:
            self.closed = self.socket.close_code
            self.changed.notify_all()

    async def send(self, kind, **fields):
        await self.socket.send(json.dumps({"type": f"transport.{kind}", **fields}))

    async def expect(self, kind, seconds=STEP, **fields):
        """The oldest message of that kind with these fields; TimeoutError without one in time."""
        wanted = {"type": f"transport.{kind}", **fields}

        def find():
            return next((m for m in self.inbox if wanted.items() <= m.items()), None)

        async with self.changed:
            try:
                await asyncio.wait_for(self.changed.wait_for(lambda: find() or self.closed is not None), seconds)
            except TimeoutError:
                raise TimeoutError(f"no {wanted} within {seconds} s; waiting: {self.inbox}") from None
            if not (message := find()):
                raise ConnectionError(f"line closed with {self.closed} instead of {wanted}; waiting: {self.inbox}")
            self.inbox.remove(message)
            return message

    async def end(self, seconds=STEP):
        """Waits for the close; its code."""
        await asyncio.wait_for(self.reader, seconds)
        return self.closed

    async def close(self):
        await self.socket.close()
        await self.end()
