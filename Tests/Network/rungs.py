#!/usr/bin/env python3
"""Judges how soon calls through a relay were heard, by what watch.py saw: rungs.py FILE CALLS ROUND-TRIP-MS LIMIT

For each call the time from hello to the first media packet that reaches the client, in round trips of the relay. Hello is the
client's third turn on its TCP connection: behind its ClientHello, and its Finished with the upgrade. The calls come one after
another, each over the client's connection to the relay and the relay's to the endpoint. Prints the percentiles in one line. Exit
codes: 0 the median is within LIMIT, 1 not, or a call is missing.
"""
import statistics
import sys

from watch import read

# The client's turns on its connection until hello: TLS 1.3's two, the upgrade with the second.
HELLO_TURN = 3


def sender(packet):
    return packet.local if packet.way == "out" else packet.remote


def receiver(packet):
    return packet.remote if packet.way == "out" else packet.local


def turns(segments):
    """When each run of segments that one end sends without the other began: a list of (time, sender)."""
    begun = []
    for packet in segments:
        if not begun or begun[-1][1] != sender(packet):
            begun.append((packet.at, sender(packet)))
    return begun


def hellos(packets, connections_of_a_call=2):
    """When each call's hello was sent: a call's connections come together, the client's first."""
    connections = {}
    for packet in packets:
        if packet.kind == "tcp":
            connections.setdefault(frozenset((packet.local, packet.remote)), []).append(packet)
    for segments in list(connections.values())[::connections_of_a_call]:
        own = [at for at, end in turns(segments) if end == sender(segments[0])]
        if len(own) >= HELLO_TURN:
            yield own[HELLO_TURN - 1]


def heard(packets, hello):
    """When media first went to the socket that sent the first check after `hello`; None if it never did."""
    after = [packet for packet in packets if packet.at >= hello]
    client = next((sender(packet) for packet in after if packet.kind == "check"), None)
    return next((packet.at for packet in after if packet.kind == "rtp" and receiver(packet) == client), None)


def offer_to_media(packets):
    """Seconds from the hello of the last call, without a relay, to the first media that went to its client; None without."""
    packets = list(packets)
    hello = max(hellos(packets, connections_of_a_call=1), default=None)
    at = None if hello is None else heard(packets, hello)
    return None if at is None else at - hello


def judge(packets, calls, round_trip, limit):
    """A line of what was found, and a list of what is wrong. The round trip in seconds."""
    # The loopback interface shows each packet twice.
    packets = [packet for packet in packets if packet.way == "out"]
    took = []
    wrong = []
    for hello in hellos(packets):
        at = heard(packets, hello)
        if at is None:
            wrong.append("a call was never heard")
        else:
            took.append((at - hello) / round_trip)
    if len(took) != calls:
        wrong.append(f"{len(took)} calls were seen, not {calls}")
    if not took:
        return "", wrong
    took.sort()
    median = statistics.median(took)
    if median > limit:
        wrong.append(f"the median is {median:.2f} round trips, limit {limit}")
    return f"{len(took)} calls: {took[0]:.2f} to {took[-1]:.2f} round trips, median {median:.2f}", wrong


def main(file, calls, round_trip, limit):
    with open(file, encoding="ascii") as lines:
        found, wrong = judge(list(read(lines)), int(calls), float(round_trip) / 1000, float(limit))
    print("; ".join([found, *wrong]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
