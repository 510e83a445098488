#!/usr/bin/env bash
# How soon other makes are heard by our endpoint, in turns with our own client, so that what disturbs the machine disturbs all:
# from the hello with the offer to the endpoint's first media, by the packets on the wire, and until both ends hear each other,
# as each says itself. No delay and no loss between two namespaces.
#
#   Benchmarks/peers.sh [ROUNDS [PEER…]]      10 rounds of chromium, gstreamer and aiortc unless told
#
# The peers are those of Tests/Interop, which Scripts/interop.sh install installs; a peer that is missing is an error. Prints
# median, 95 % and worst of each, and writes out/peers.ndjson, an object a call.
source "$(dirname "${BASH_SOURCE[0]}")/../Tests/Network/lib.sh"
need openssl

rounds=${1:-10}
[[ $rounds =~ ^[1-9][0-9]{0,3}$ ]] || { echo "error: peers.sh [ROUNDS [PEER…]]" >&2; exit 64; }
peers=("${@:2}")
if ((${#peers[@]} == 0)); then peers=(chromium gstreamer aiortc); fi
python=$PWD/.venv-interop/bin/python
[[ -x $python ]] || { echo "error: no $python; Scripts/interop.sh install makes it" >&2; exit 1; }
for peer in "${peers[@]}"; do
    [[ -f Tests/Interop/peer_$peer.py ]] || { echo "error: no Tests/Interop/peer_$peer.py" >&2; exit 1; }
done

namespace ours theirs
wire ours 192.0.2.1/24 theirs 192.0.2.2/24
ip -n theirs route add default via 192.0.2.1
settle ours theirs

# A process of ours makes two calls and the second one counts: a process is new once, and libsrtp2 takes tens of milliseconds then;
# the browser is long there when its page calls.
#
# called PEER NAME: one call of it to an endpoint of its own; what the call took, in milliseconds, goes into $work/NAME.json,
# its packets into $work/NAME.wire.
called() {
    current=$1
    set -- "$1" "$work/$2.json" "$2"
    serve ours 192.0.2.1
    watch ours to-theirs "$3"
    if [[ $1 == ours ]]; then
        inside theirs "$probe" connect "$line" --ca "$ca" --repeat 2 --quiet --timeout 30 --json "$2"
    else
        timeout -k 2 60 "${ahead[@]}" nsenter --net=/run/netns/theirs -- "$python" -B "Tests/Interop/peer_$1.py" \
            --line "$line" --ca "$ca" --endpoint "$serving" --hang-up endpoint --report "$2" >"$2.out" 2>&1 ||
            { tail -n 20 "$2.out" >&2; return 1; }
    fi
    unwatch
    kill "$serving" 2>/dev/null || true
    wait "$serving" || true
}

all=(ours "${peers[@]}")
for ((round = 0; round < rounds; round++)); do
    for ((step = 0; step < ${#all[@]}; step++)); do
        # Who goes first changes from round to round.
        name=${all[(round + step) % ${#all[@]}]}
        called "$name" "$name.$round"
    done
done

current=table
mkdir -p out
python3 -B - "$work" "$rounds" "${all[@]}" <<'TABLE'
import json, pathlib, sys

sys.path.insert(0, "Tests/Network")
from rungs import offer_to_media
from watch import read

work, rounds, names = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]


def percentiles(times):
    times = sorted(times)
    rank = lambda percent: times[max(0, -(-percent * len(times) // 100) - 1)]
    return f"{rank(50):6.0f} {rank(95):6.0f} {times[-1]:6.0f}"


print(f"{'milliseconds from the offer':32} {'to first media':>20}   {'until both hear':>20}   calls")
print(f"{'':32} {'p50    p95  worst':>20}   {'p50    p95  worst':>20}")
with open("out/peers.ndjson", "w") as out:
    for name in names:
        media, both = [], []
        for call in range(rounds):
            report = json.loads((work / f"{name}.{call}.json").read_text())
            setup = report["calls"][-1]["setup"] if "calls" in report else None
            # The peers count from their hello, the probe from the call's start.
            both.append(setup["active_ms"] - setup["hello_ms"] if setup else report["active_ms"])
            with open(work / f"{name}.{call}.wire") as wire:
                took = offer_to_media(read(wire))
            if took is None:
                sys.exit(f"error: {name}, round {call}: no media on the wire")
            media.append(took * 1000)
            version = report["tool"]["version"] if setup else report["version"]
            times = {"first_media_ms": round(media[-1], 1), "both_hear_ms": round(both[-1], 1)}
            print(json.dumps({"peer": name, "version": version, "round": call, **times}), file=out)
        print(f"{name + ' ' + version:32} {percentiles(media)}   {percentiles(both)}   {len(media)}")
TABLE
