#!/usr/bin/env python3
"""Listens on an interface and says how DTLS was agreed there: wire.py INTERFACE FILE, until SIGTERM, which writes FILE.

Reads what is in the clear: ClientHello (also in fragments) and ServerHello (RFC 6347, RFC 5764 §4.1), so that nobody's own
word for version and SRTP profile is needed; and the usernames of ICE's checks, which a restart changes. Needs CAP_NET_RAW.
"""
import json
import pathlib
import signal
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "Network"))
from watch import ETHERTYPE_IPV4, datagram, kind, transaction  # noqa: E402

HANDSHAKE, CLIENT_HELLO, SERVER_HELLO = 22, 1, 2
USE_SRTP, SUPPORTED_VERSIONS = 14, 43
# Firefox offers TLS 1.2, too.
VERSIONS = {0xFEFF: "1.0", 0xFEFD: "1.2", 0xFEFC: "1.3", 0x0303: "TLS 1.2"}
PROFILES = {1: "AES128_CM_SHA1_80", 2: "AES128_CM_SHA1_32", 7: "AEAD_AES_128_GCM", 8: "AEAD_AES_256_GCM"}


def number(data, at, length):
    if at + length > len(data):
        raise ValueError("truncated")
    return int.from_bytes(data[at : at + length], "big")


def name(names, value):
    return names.get(value, f"0x{value:04x}")


def fragments(payload):
    """The handshake fragments in the clear of a datagram: type, message number, length, offset, bytes."""
    at = 0
    while at + 13 <= len(payload):
        kind, epoch, length = payload[at], number(payload, at + 3, 2), number(payload, at + 11, 2)
        record = payload[at + 13 : at + 13 + length]
        at += 13 + length
        start = 0
        while kind == HANDSHAKE and epoch == 0 and start + 12 <= len(record):
            size = number(record, start + 9, 3)
            body = record[start + 12 : start + 12 + size]
            yield record[start], number(record, start + 4, 2), number(record, start + 1, 3), number(record, start + 6, 3), body
            start += 12 + size


def extensions(data, at):
    """By type; of a repeated one the last."""
    found = {}
    end = at + 2 + number(data, at, 2)
    at += 2
    while at + 4 <= min(end, len(data)):
        length = number(data, at + 2, 2)
        found[number(data, at, 2)] = data[at + 4 : at + 4 + length]
        at += 4 + length
    return found


def profiles(extension):
    return [name(PROFILES, number(extension, at, 2)) for at in range(2, 2 + number(extension, 0, 2), 2)]


def client_hello(body):
    at = 34
    at += 1 + number(body, at, 1)  # session
    at += 1 + number(body, at, 1)  # cookie
    at += 2 + number(body, at, 2)  # suites
    at += 1 + number(body, at, 1)  # compressions
    found = extensions(body, at)
    versions = found.get(SUPPORTED_VERSIONS, b"\0" + body[:2])
    return {
        "offered_versions": [name(VERSIONS, number(versions, at, 2)) for at in range(1, len(versions) - 1, 2)],
        "offered_profiles": profiles(found[USE_SRTP]) if USE_SRTP in found else [],
    }


def server_hello(body):
    at = 35 + number(body, 34, 1)
    found = extensions(body, at + 3) if at + 5 <= len(body) else {}
    agreed = profiles(found[USE_SRTP]) if USE_SRTP in found else []
    return {
        "version": name(VERSIONS, number(found.get(SUPPORTED_VERSIONS, body), 0, 2)),
        "cipher": f"0x{number(body, at, 2):04x}",
        "profile": agreed[0] if len(agreed) == 1 else None,
    }


class SetUp:
    """What both hellos said, and the username of each check that was answered, once. The last of each kind counts: the one before may have been answered by a cookie or a retry."""

    def __init__(self):
        self.facts = {}
        self.partial = {}
        self.asked = {}

    def take(self, source, payload):
        what, user = kind(payload)
        if what == "check":
            self.asked[transaction(payload)] = user
        elif what == "answer" and (user := self.asked.get(transaction(payload))):
            self.facts["checks"] = list(dict.fromkeys([*self.facts.get("checks", []), user]))
        if not payload or not 20 <= payload[0] <= 63:
            return
        for hello, message, length, offset, body in fragments(payload):
            if hello not in (CLIENT_HELLO, SERVER_HELLO) or offset + len(body) > length:
                continue
            pieces = self.partial.setdefault((hello, source, message, length), {})
            pieces[offset] = body
            if sum(map(len, pieces.values())) < length:
                continue
            whole = b"".join(pieces[at] for at in sorted(pieces))
            if hello == CLIENT_HELLO:
                self.facts |= client_hello(whole) | {"client": source, "hello_fragments": len(pieces), "hello_bytes": length}
            else:
                self.facts |= server_hello(whole)


def main(interface, file):
    setup = SetUp()

    def finish(*_):
        pathlib.Path(file).write_text(json.dumps(setup.facts))
        sys.exit(0)

    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0003)) as wire:
        wire.bind((interface, 0))
        signal.signal(signal.SIGTERM, finish)
        print("listening", flush=True)
        while True:
            packet, (_, protocol, *_) = wire.recvfrom(65_536)
            seen = datagram(packet) if protocol == ETHERTYPE_IPV4 else None
            if seen:
                try:
                    setup.take(seen[0][0], seen[2])
                except ValueError as error:
                    print(f"not understood: {error}", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
