#!/usr/bin/env python3
"""Judges by what watch.py saw at the client how long a call was silent: gap.py FILE CAUSED-AT LIMIT-MS [rtp]

The longest time without a media packet of the server's, over UDP or (not with "rtp") in a segment of the line's, from a second before CAUSED-AT
(seconds of the monotonic clock) to the last of them. Prints it, or what is wrong, in one line. Exit codes: 0 within LIMIT-MS, 1 not.
"""
import sys

from watch import read

BEFORE = 1.0


def judge(packets, caused_at, limit, kinds=("rtp", "tcp")):
    """A line of what was found, and a list of what is wrong. The limit in seconds."""
    times = [p.at for p in packets if p.way == "in" and p.kind in kinds and p.at >= caused_at - BEFORE]
    if len(times) < 2 or times[-1] <= caused_at:
        return "", [f"{len(times)} packets from a second before the outage on, and none behind it"]
    longest = max(b - a for a, b in zip(times, times[1:]))
    wrong = []
    if longest > limit:
        wrong.append(f"the client heard nothing for {longest * 1000:.0f} ms, limit {limit * 1000:.0f}")
    return f"longest gap on the client's wire {longest * 1000:.0f} ms", wrong


def main(file, caused_at, limit, *kinds):
    with open(file, encoding="ascii") as lines:
        found, wrong = judge(read(lines), float(caused_at), float(limit) / 1000, kinds or ("rtp", "tcp"))
    print("; ".join(wrong or [found]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
