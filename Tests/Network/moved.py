#!/usr/bin/env python3
"""Judges what watch.py saw at the server of a call whose client's address changed: moved.py FILE CHECK-MS MOVE-MS

A check has to come within CHECK-MS of the first packet from the new address; the server has to send its media there within
MOVE-MS of it, to stop sending to the old one, and nothing may begin anew: no DTLS handshake, no other ICE credentials, no second
move. Prints what was seen, or what is wrong, in one line. Exit codes: 0 moved, 1 not.
"""
import sys

from watch import read

# The one that moves media, and the one that answers its answer, which may pass before the next packet of media is due.
CHECKS_OF_A_MOVE = 2


def judge(packets, check_limit, limit):
    """A list of what was found, and a list of what is wrong. The limits are seconds."""
    packets = list(packets)
    media = [packet for packet in packets if packet.kind == "rtp"]
    heard_from = list(dict.fromkeys(packet.remote for packet in media if packet.way == "in"))
    if len(heard_from) != 2:
        return [], [f"media came from {len(heard_from)} addresses, not 2: {' '.join(heard_from)}"]
    old, new = heard_from
    changed = next(packet.at for packet in packets if packet.way == "in" and packet.remote == new)
    check = next((p.at for p in packets if p.way == "in" and p.remote == new and p.kind == "check"), None)
    sent = [packet for packet in media if packet.way == "out" and packet.remote == new]
    if check is None:
        return [], [f"no check ever came from {new}"]
    if not sent:
        return [], [f"nothing was ever sent to {new}, though a check came from there"]
    wrong = []
    if check - changed > check_limit:
        wrong.append(
            f"the first check came {(check - changed) * 1000:.0f} ms after the change, limit {check_limit * 1000:.0f}")
    moved = sent[0].at - check
    if moved > limit:
        wrong.append(f"media moved {moved * 1000:.0f} ms after the first check, limit {limit * 1000:.0f}")
    if moved < 0:
        wrong.append("media moved before any check came from the new address")
    late = [packet for packet in media if packet.way == "out" and packet.remote == old and packet.at > check + limit]
    if late:
        wrong.append(f"{len(late)} media packets still went to {old}")
    handshakes = [packet for packet in packets if packet.kind == "handshake" and packet.at >= changed]
    if handshakes:
        wrong.append(f"{len(handshakes)} handshake packets after the change")
    checks = [p for p in packets if p.way == "in" and p.remote == new and p.kind == "check" and p.at <= sent[0].at]
    if len(checks) > CHECKS_OF_A_MOVE:
        wrong.append(f"{len(checks)} checks came from {new} before media went there, limit {CHECKS_OF_A_MOVE}")
    users = {packet.user for packet in packets if packet.kind == "check" and packet.way == "in"}
    if len(users) != 1:
        wrong.append(f"{len(users)} usernames in the checks: a restart")
    times = [packet.at for packet in media if packet.way == "in"]
    found = [
        f"{old} to {new}",
        f"first check {(check - changed) * 1000:.0f} ms after the first packet",
        f"media there {moved * 1000:.0f} ms later, after {len(checks)} checks",
        f"longest gap of media heard {max(b - a for a, b in zip(times, times[1:])) * 1000:.0f} ms",
        f"{len(sent)} packets sent there",
    ]
    return found, wrong


def main(file, check_limit, limit):
    with open(file, encoding="ascii") as stream:
        found, wrong = judge(read(stream), float(check_limit) / 1000, float(limit) / 1000)
    print(", ".join(wrong or found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
