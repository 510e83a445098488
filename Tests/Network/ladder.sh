#!/usr/bin/env bash
# Calls on real sockets through the relay, with a round trip of 100 ms on UDP and on the line: how many round trips from hello to
# the agent's first audio, by the calls' own report and by the packets on the wire. Then once more with the hello left out of
# the offer. Needs root or user namespaces, and what Scripts/setup.sh network-tests installs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

calls=21
namespace both

# heard NAME LIMIT ARGUMENTS…
heard() {
    current=$1
    local on_wire reported code=0
    watch both lo "$1"
    inside both "$probe" connect --repeat $calls --impair delay=50,line.delay=50 --quiet --json "$work/$1.json" \
        "${@:3}" >"$work/$1.out" 2>&1 || code=$?
    unwatch
    if ((code != 0)); then
        fail "$1: exit $code: $(cat "$work/$1.out")"
    elif ! on_wire=$(python3 -B Tests/Network/rungs.py "$work/$1.wire" $calls 100 "$2"); then
        fail "$1: $on_wire"
    elif ! reported=$(report "$1" "connect.webrtc=$calls" "connect.stages.rtt_multiple.p50<=$2"); then
        fail "$1: $reported"
    else
        pass "$1: on the wire $on_wire; reported $reported"
    fi
}

heard hello-in-offer 2.2
heard classic 3.3 --without hello-in-offer
finish
