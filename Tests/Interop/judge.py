#!/usr/bin/env python3
"""Judges one call between us and a peer of another make, and adds its row to the summary.

judge.py called DIRECTORY NAME   a peer called our endpoint: NAME.json (the peer's report), NAME.wire.json, NAME.log (serve's)
judge.py calling DIRECTORY NAME  we called a peer's endpoint: NAME.json (the probe's), NAME.peer.json, NAME.wire.json, NAME.wav
judge.py table DIRECTORY PEER…   the rows as a table; wrong if a peer has none
Prints what is wrong. Exit codes: 0 nothing, 1 something.
"""
import json
import pathlib
import sys

import tone

ROWS = "rows.ndjson"
OURS, THEIRS = "192.0.2.1", "192.0.2.2"
# Of the 4 s that are talked, what must come back: the echo's delay, the way and a turn of the tone go off.
LEAST_SECONDS = 2.5
LEAST_MARKERS = 3
COLUMNS = {
    "peer": "peer", "version": "version", "direction": "direction", "hang_up": "hung up by", "setup": "set-up, ms",
    "back": "tone back, s", "there": "tone heard there, s", "dtls": "DTLS", "profile": "SRTP profile",
    "hello": "ClientHello", "offered": "offers DTLS", "early": "hello in offer", "restart": "ICE restart", "restarted": "tone after it, s",
    "lost": "lost of received",
}


class Findings(list):
    def need(self, holds, text):
        if not holds:
            self.append(text)


def load(file):
    return json.loads(file.read_text())


def agreed(wire, row, wrong):
    """What the wire says of DTLS; our order of profiles must have decided where we were the server."""
    offered = wire.get("offered_profiles", [])
    row |= {
        "dtls": wire.get("version"), "profile": wire.get("profile"),
        "offered": ", ".join(wire.get("offered_versions", [])),
        "hello": f"{wire.get('hello_bytes')} B in {wire.get('hello_fragments')}",
    }
    wrong.need(row["dtls"] == "1.2", f"DTLS {row['dtls']}")
    best = next((p for p in ("AEAD_AES_128_GCM", "AES128_CM_SHA1_80") if p in offered), None)
    wrong.need(best and row["profile"] == best, f"profile {row['profile']} of {offered}")


def loss(report, row, wrong):
    lost, received = report.get("lost"), report.get("received")
    if received is None:
        row["lost"] = "not told"
        return
    row["lost"] = f"{lost} of {received}"
    wrong.need(received >= 100 and lost <= received / 100, f"{lost} of {received} packets lost")
    wrong.need((report.get("lost_there") or 0) <= received / 100, f"{report.get('lost_there')} packets lost on the way to us")


def called(directory, name):
    wrong, report = Findings(), load(directory / f"{name}.json")
    row = {k: report.get(k) for k in ("peer", "version", "hang_up", "restart")}
    row |= {"direction": "calls us", "setup": report["active_ms"], "back": report["verified"]}
    wrong.need(report["verified_first"] >= LEAST_SECONDS, f"{report['verified_first']} s of tone came back")
    wrong.need(report["markers"] >= LEAST_MARKERS, f"{report['markers']} markers came")
    wrong.need(report["line_audio"] == 0, f"{report['line_audio']} packets came on the line")
    wrong.need(report["close_code"] == 1000, f"line closed with {report['close_code']}")
    log = (directory / f"{name}.log").read_text()
    wrong.need("webrtc, " in log, f"endpoint: {log}")
    if report["hang_up"] == "peer":
        wrong.need("ended by the caller" in log, f"endpoint: {log}")
        if report["restart"] == "yes":
            row["restarted"] = report["verified_after_restart"]
            wrong.need(row["restarted"] >= LEAST_SECONDS, f"{row['restarted']} s of tone after the restart")
    else:
        wrong.need("ended by this end" in log, f"endpoint: {log}")
        wrong.need(report["bye"]["by"] == "server", f"bye {report['bye']}")
        row["hang_up"] = "us"
    wire = load(directory / f"{name}.wire.json")
    agreed(wire, row, wrong)
    wrong.need(wire.get("client") == THEIRS, f"the ClientHello is {wire.get('client')}'s, not the peer's")
    # Checks with two new halves, answered, are a restart's.
    halves = [check.split(":") for check in wire["checks"]]
    restarted = any(ours != halves[0][0] and theirs != halves[0][1] for ours, theirs in halves)
    wrong.need(restarted == (report.get("restart") == "yes"), f"restart {report.get('restart')}, checks {wire['checks']}")
    for ours, theirs in (("dtls", "peer_dtls"), ("profile", "peer_profile")):
        word = (report.get(theirs) or row[ours] or "").removeprefix("DTLSv").removeprefix("SRTP_")
        wrong.need(word == row[ours], f"{theirs} is {word}")
    loss(report, row, wrong)
    return row, wrong


def calling(directory, name):
    wrong, report, peer = Findings(), load(directory / f"{name}.json"), load(directory / f"{name}.peer.json")
    meter = tone.ToneMeter(tone.LEVEL * tone.ECHO_GAIN)
    meter.feed(tone.read_wave(str(directory / f"{name}.wav")))
    call = report["call"]
    row = {
        "peer": peer["peer"], "version": peer["version"], "direction": f"is called, answers {peer['setup']}",
        "setup": round(report["setup"]["active_ms"]), "back": meter.verified, "there": peer["verified_there"],
        "hang_up": "us" if peer["bye_from"] == "client" else "peer", "restart": "no: aiortc has none",
        "early": "yes, not taken up" if peer["hello_in_offer"] else "no",
    }
    wrong.need(call["transport"] == "webrtc", f"{call['transport']}, {call['transportFallbackReason']}, {call['fallback']}")
    wrong.need(report["dtls"]["role"] == {"active": "server", "passive": "client"}[peer["setup"]], f"dtls {report['dtls']}")
    wrong.need(row["back"] >= LEAST_SECONDS, f"{row['back']} s of tone came back")
    wrong.need(row["there"] >= LEAST_SECONDS, f"{row['there']} s of tone came there")
    wrong.need(meter.markers >= LEAST_MARKERS, f"{meter.markers} markers came")
    reason = call["outcome"]["reason"]
    wrong.need(reason == {"client": "local", "server": "remote"}[peer["bye_from"]], f"ended: {call['outcome']}")
    wrong.need(peer["line_audio"] == 0, f"{peer['line_audio']} packets came on the line there")
    wire = load(directory / f"{name}.wire.json")
    agreed(wire, row, wrong)
    client = {"active": THEIRS, "passive": OURS}[peer["setup"]]
    wrong.need(wire.get("client") == client, f"the ClientHello is {wire.get('client')}'s, not {client}'s")
    wrong.need(report["dtls"]["version"] == f"DTLSv{row['dtls']}", f"dtls {report['dtls']}")
    media = report["media"]
    loss({"lost": media["lost"], "received": media["received"], "lost_there": peer["lost"]}, row, wrong)
    return row, wrong


def table(directory, peers):
    file = directory / ROWS
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    titles = list(COLUMNS.values())
    cells = [["–" if row.get(k) in (None, "") else str(row[k]) for k in COLUMNS] for row in rows]
    widths = [max(len(line[at]) for line in [titles, *cells]) for at in range(len(titles))]
    for line in [titles, ["-" * w for w in widths], *cells]:
        print("| " + " | ".join(text.ljust(width) for text, width in zip(line, widths)) + " |")
    return [f"no call with {peer}" for peer in peers if not any(row["peer"] == peer for row in rows)]


def main(command, directory, *arguments):
    directory = pathlib.Path(directory)
    if command == "table":
        wrong = table(directory, arguments)
    else:
        try:
            row, wrong = {"called": called, "calling": calling}[command](directory, *arguments)
        except (OSError, KeyError, TypeError, ValueError) as error:
            print(f"no result: {type(error).__name__}: {error}")
            return 1
        with open(directory / ROWS, "a", encoding="utf-8") as rows:
            rows.write(json.dumps({k: row.get(k) for k in COLUMNS}) + "\n")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
