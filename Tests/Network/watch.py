#!/usr/bin/env python3
"""Writes a line for every UDP packet and TCP segment with data over IPv4 that passes an interface: watch.py INTERFACE FILE

The line's fields: seconds, "in" or "out", the local and the remote address and port, what it is (see `kind`), the STUN username
or "-", the STUN transaction or "-". INTERFACE "any" stands for all of them. Needs CAP_NET_RAW. Runs until it is killed.
"""
import socket
import sys
from typing import NamedTuple

ETHERTYPE_IPV4 = 0x0800
STUN_USERNAME = 0x0006
STUN_MAGIC = b"\x21\x12\xa4\x42"
STUN_KINDS = {0x0001: "check", 0x0101: "answer", 0x0111: "refusal", 0x0011: "indication"}
DTLS_HANDSHAKE = 22


class Packet(NamedTuple):
    """A line of the file."""

    at: float
    way: str
    local: str
    remote: str
    kind: str
    user: str
    transaction: str


def read(lines):
    for line in lines:
        at, *fields = line.split()
        yield Packet(float(at), *fields)


def kind(payload):
    """What a datagram is, by its first bytes (RFC 7983), and the username of a STUN message."""
    if len(payload) >= 20 and payload[0] < 4 and payload[4:8] == STUN_MAGIC:
        return STUN_KINDS.get(int.from_bytes(payload[:2], "big"), "stun"), username(payload)
    if payload and 20 <= payload[0] <= 63:
        return ("handshake" if payload[0] == DTLS_HANDSHAKE else "dtls"), None
    if len(payload) >= 2 and 128 <= payload[0] <= 191:
        # RFC 5761 §4: RTCP's packet types.
        return ("rtcp" if 192 <= payload[1] <= 223 else "rtp"), None
    return "other", None


def transaction(payload):
    """The transaction of a STUN message, in hexadecimal; None for everything else."""
    is_stun = len(payload) >= 20 and payload[0] < 4 and payload[4:8] == STUN_MAGIC
    return payload[8:20].hex() if is_stun else None


def username(message):
    at = 20
    while at + 4 <= len(message):
        attribute = int.from_bytes(message[at : at + 2], "big")
        length = int.from_bytes(message[at + 2 : at + 4], "big")
        if attribute == STUN_USERNAME:
            return message[at + 4 : at + 4 + length].decode("ascii", "replace")
        at += 4 + (length + 3) // 4 * 4
    return None


def datagram(packet):
    """Source, destination and payload of an IPv4 packet with UDP in it; None for every other."""
    header = (packet[0] & 0x0F) * 4 if packet else 0
    if len(packet) < 28 or packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_UDP or len(packet) < header + 8:
        return None
    udp = packet[header:]
    ports = [int.from_bytes(udp[at : at + 2], "big") for at in (0, 2)]
    addresses = [socket.inet_ntoa(packet[at : at + 4]) for at in (12, 16)]
    return (addresses[0], ports[0]), (addresses[1], ports[1]), udp[8 : int.from_bytes(udp[4:6], "big")]


def segment(packet):
    """Source and destination of an IPv4 packet with TCP data in it; None for every other."""
    header = (packet[0] & 0x0F) * 4 if packet else 0
    if len(packet) < header + 20 or packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
        return None
    tcp = packet[header : int.from_bytes(packet[2:4], "big")]
    if len(tcp) <= (tcp[12] >> 4) * 4:
        return None
    ports = [int.from_bytes(tcp[at : at + 2], "big") for at in (0, 2)]
    return tuple((socket.inet_ntoa(packet[at : at + 4]), port) for at, port in zip((12, 16), ports))


def main(interface, file):
    import time

    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0003)) as wire:
        if interface != "any":
            wire.bind((interface, 0))
        with open(file, "w", buffering=1, encoding="ascii", errors="replace") as output:
            while True:
                packet, (_, protocol, way, _, _) = wire.recvfrom(65_536)
                if protocol != ETHERTYPE_IPV4:
                    continue
                if seen := datagram(packet):
                    source, destination, payload = seen
                    what, user = kind(payload)
                elif seen := segment(packet):
                    source, destination, payload = *seen, b""
                    what, user = "tcp", None
                else:
                    continue
                going = way == socket.PACKET_OUTGOING
                ends = (source, destination) if going else (destination, source)
                local, remote = (f"{host}:{port}" for host, port in ends)
                fields = ["out" if going else "in", local, remote, what, user or "-", transaction(payload) or "-"]
                print(f"{time.monotonic():.6f}", *fields, file=output)


if __name__ == "__main__":
    main(*sys.argv[1:])
