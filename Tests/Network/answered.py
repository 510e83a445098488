#!/usr/bin/env python3
"""Judges what watch.py saw at a server with several addresses: answered.py FILE ADDRESS…

Checks have to come to each ADDRESS, every answer has to leave from the address and port its check came to, and media only from
where a check of its receiver's came to. Prints what was seen, or what is wrong, in one line. Exit codes: 0 right, 1 not.
"""
import sys

from watch import read


def judge(packets, addresses):
    """A list of what was found, and a list of what is wrong."""
    packets = list(packets)
    checks = {packet.transaction: packet for packet in packets if packet.way == "in" and packet.kind == "check"}
    answers = [packet for packet in packets if packet.way == "out" and packet.kind in ("answer", "refusal")]
    found, wrong = [], []
    answered = set()
    for answer in answers:
        check = checks.get(answer.transaction)
        if check is None:
            wrong.append(f"an answer from {answer.local} to no check")
        elif (check.local, check.remote) != (answer.local, answer.remote):
            wrong.append(f"a check from {check.remote} to {check.local} is answered from {answer.local} to {answer.remote}")
        else:
            answered.add(answer.transaction)
    for address in addresses:
        asked = [key for key, check in checks.items() if host(check.local) == address]
        share = f"{address} answered {len(answered.intersection(asked))} of {len(asked)} checks"
        (found if asked and answered.issuperset(asked) else wrong).append(share)
    media = [packet for packet in packets if packet.way == "out" and packet.kind == "rtp"]
    known = {(check.local, check.remote) for check in checks.values()}
    stray = sorted({f"{packet.local} to {packet.remote}" for packet in media if (packet.local, packet.remote) not in known})
    if stray:
        wrong.append(f"media where no check was: {', '.join(stray)}")
    (found if media else wrong).append(
        f"{len(media)} media packets from {' '.join(sorted({host(packet.local) for packet in media})) or 'nowhere'}")
    return found, wrong


def host(end):
    return end.rpartition(":")[0]


def main(file, *addresses):
    with open(file, encoding="ascii") as stream:
        found, wrong = judge(read(stream), addresses)
    print(", ".join(wrong or found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
