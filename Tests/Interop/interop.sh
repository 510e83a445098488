#!/usr/bin/env bash
# Calls between us and others over the call line, in two network namespaces joined by veth (aioice and libwebrtc refuse
# 127.0.0.1): Chromium, Firefox, GStreamer's webrtcbin and aiortc call our endpoint; our client calls an endpoint on aiortc
# that answers active, and one that answers passive. A tone must come back, and markers with it; each end hangs up once; an
# ICE restart with every peer that can. Interop is what is judged, so a peer that is missing is an error.
# Needs root or user namespaces, and what Scripts/interop.sh installs. Run it by that.
source "$(dirname "${BASH_SOURCE[0]}")/../Network/lib.sh"
need chromium firefox-esr openssl pulseaudio

here=Tests/Interop
python=$PWD/.venv-interop/bin/python
[[ -x $python ]] || { echo "error: no $python; Scripts/interop.sh makes it" >&2; exit 1; }

ours=ours
theirs=theirs
namespace "$ours" "$theirs"
wire "$ours" 192.0.2.1/24 "$theirs" 192.0.2.2/24
# Firefox without a capture grant announces the address that leads out.
ip -n "$theirs" route add default via 192.0.2.1
settle "$ours" "$theirs"

# Nothing here waits longer than this for a process, seconds.
bound=60

# peer COMMAND…: a program of the other end's; killed at the bound, and with this script.
peer() {
    setpriv --pdeathsig KILL timeout -k 2 "$bound" "${ahead[@]}" nsenter --net="/run/netns/$theirs" -- "$python" -B "$@"
}

# read_hellos NAME: what both hellos say goes into $work/NAME.wire.json, until hellos_read.
read_hellos() {
    : >"$work/$1.wire"
    "${ahead[@]}" nsenter --net="/run/netns/$ours" -- \
        python3 -B "$here/wire.py" "to-$theirs" "$work/$1.wire.json" >"$work/$1.wire" 2>&1 &
    reading=$!
    children+=("$reading")
    until_line listening "$work/$1.wire"
}
hellos_read() { stopped "$reading" || true; }

# stopped PROCESS: tells a child to end; its exit code, or 137 after 10 s.
stopped() {
    kill "$1" 2>/dev/null || true
    for _ in {1..100}; do
        kill -0 "$1" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$1" 2>/dev/null || true
    wait "$1"
}

# until_line TEXT FILE: waits until the file has it.
until_line() {
    for _ in {1..100}; do
        ! grep -q "$1" "$2" || return 0
        sleep 0.1
    done
    echo "error: $current: no $1 in $(cat "$2")" >&2
    return 1
}

# judged KIND NAME LOG…
judged() {
    local findings
    if findings=$(cat "$work/$2.exit" 2>/dev/null; "$python" -B "$here/judge.py" "$1" "$work" "$2") && [[ -z $findings ]]; then
        pass "$2"
    else
        fail "$2: $findings"
        tail -n 40 "${@:3}" >&2
    fi
}

# called PEER peer|endpoint: the peer calls our endpoint; who hangs up.
called() {
    current=$1-$2
    serve "$ours" 192.0.2.1
    read_hellos "$current"
    peer "$here/peer_$1.py" --line "$line" --ca "$ca" --endpoint "$serving" --hang-up "$2" --report "$work/$current.json" \
        >"$work/$current.out" 2>&1 || echo "the peer ended with $?" >"$work/$current.exit"
    # The endpoint says a line for the call once it is over. Where it had to hang up it has ended, if all went well.
    until_line "ended by" "$work/serve.log" || true
    stopped "$serving" || echo "our endpoint ended with $?" >>"$work/$current.exit"
    hellos_read
    cp "$work/serve.log" "$work/$current.log"
    judged called "$current" "$work/$current.out" "$work/$current.log"
}

# calling active|passive us|peer: we call the endpoint on aiortc, which answers so; who hangs up.
calling() {
    current=aiortc-$1-$2
    local hang_up=() duration=5
    if [[ $2 == peer ]]; then hang_up=(--hang-up-after 5) duration=30; fi
    read_hellos "$current"
    peer "$here/endpoint_aiortc.py" --bind 192.0.2.2 --cert "$work/peer.pem" --cert-key "$work/peer.key" --setup "$1" \
        ${hang_up[@]+"${hang_up[@]}"} --report "$work/$current.peer.json" >"$work/$current.peer.out" 2>&1 &
    local endpoint=$!
    children+=("$endpoint")
    until_line READY "$work/$current.peer.out"
    line=$(sed -n 's/^READY line=//p' "$work/$current.peer.out")
    ca=$work/peer.pem
    call "$ours" "$current" --timeout "$bound" --duration "$duration" --audio "$work/tone.wav" --record "$work/$current.wav"
    wait "$endpoint" || echo "the peer ended with $?" >"$work/$current.exit"
    hellos_read
    judged calling "$current" "$work/$current.out" "$work/$current.peer.out"
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=192.0.2.2" \
    -addext "subjectAltName=IP:192.0.2.2" -keyout "$work/peer.key" -out "$work/peer.pem" 2>/dev/null
PYTHONPATH=$here "$python" -B -c "import sys, tone; tone.write_wave(sys.argv[1], tone.tone(0, 30 * tone.RATE))" "$work/tone.wav"

for name in chromium firefox gstreamer aiortc; do
    called "$name" peer
    called "$name" endpoint
done
calling active us
calling active peer
calling passive us

current=table
"$python" -B "$here/judge.py" table "$work" chromium firefox gstreamer aiortc || fail "a peer is missing"
# A JSON object a call.
mkdir -p out
[[ ! -e $work/rows.ndjson ]] || cp "$work/rows.ndjson" out/interop.ndjson
finish
