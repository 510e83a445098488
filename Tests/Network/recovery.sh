#!/usr/bin/env bash
# Active calls whose path breaks: a NAT that forgets their mapping, with the line at hand and with the line held; an interface that
# goes; UDP that is dead for four seconds, and for good; UDP and line dead; and the same where the call is to end instead of
# carrying on. How long each was silent, what became of it, and when.
# Needs root or user namespaces, and what Scripts/setup.sh network-tests installs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need conntrack

inner=10.0.0.2
outer=192.0.2.254
first=192.0.2.1
second=198.51.100.1
line_address=203.0.113.1
# The client behind a NAT; straight, by another wire; and for the line a wire of its own.
namespace client nat server
wire client $inner/24 nat 10.0.0.1/24
wire nat $outer/24 server $first/24
wire client 198.51.100.2/24 server $second/24 -2
wire client 203.0.113.2/24 server $line_address/24 -line
ip -n client route add 192.0.2.0/24 via 10.0.0.1
inside nat sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
inside nat nft -f - <<RULES
table ip nat {
    chain mapping { }
    chain out {
        type nat hook postrouting priority srcnat
        oifname "to-server" ip protocol udp jump mapping
        oifname "to-server" masquerade
    }
    chain unmapped {
        type filter hook input priority 0
        iifname "to-server" ip protocol udp drop
    }
}
RULES
# Media has its own two ways; the line's wire carries none.
inside server nft -f - <<RULES
table inet recovery {
    counter udp_in { }
    counter tcp_in { }
    chain udp_verdict { }
    chain tcp_verdict { }
    chain input {
        type filter hook input priority 0
        iifname "to-client-line" meta l4proto udp drop
        meta l4proto udp jump udp_verdict
        meta l4proto tcp jump tcp_verdict
        meta l4proto udp counter name "udp_in"
        meta l4proto tcp counter name "tcp_in"
    }
    chain output {
        type filter hook output priority 0
        oifname "to-client-line" meta l4proto udp drop
        meta l4proto udp jump udp_verdict
        tcp flags & rst == 0 jump tcp_verdict
    }
}
RULES
packets() { inside server nft list counter inet recovery "$2" | sed -n 's/.*packets \([0-9]*\) .*/\1/p'; }

# udp RULE, tcp RULE: what happens to it at the server, both ways; '' lets it through.
udp() {
    inside server nft flush chain inet recovery udp_verdict
    [[ -z $1 ]] || inside server nft add rule inet recovery udp_verdict "$1"
}
tcp() {
    inside server nft flush chain inet recovery tcp_verdict
    # shellcheck disable=SC2086
    [[ -z $1 ]] || inside server nft add rule inet recovery tcp_verdict $1
}

# A voice without pauses, so that a gap in it is a gap of the call.
python3 - "$work/voice.wav" <<'PYTHON'
import array, math, sys, wave
rate, syllable = 48000, 12000
wave_of = lambda t: sum(math.sin(2 * math.pi * 200 * h * t) / h for h in (1, 2, 3, 4, 6, 7, 8))
one = [int(4500 * wave_of(i / rate) * (0.75 - 0.25 * math.cos(8 * math.pi * i / rate))) for i in range(syllable)]
with wave.open(sys.argv[1], "wb") as file:
    file.setparams((1, 2, rate, 0, "NONE", ""))
    file.writeframes(array.array("h", one * 80).tobytes())
PYTHON

took=
serve server $first,$second,$line_address
line=wss://$line_address:${line##*:}

# Milliseconds on the monotonic clock, without a process of its own where it counts.
clock() {
    local up
    read -r up _ </proc/uptime
    now=$((10#${up/./} * 10))
}

# speak NAME SECONDS ARGUMENTS…: a call with that voice, in its third second when this returns. What an outage loses on the path is
# no fault of it.
speak() {
    current=$1
    udp ""
    tcp ""
    place client "$1" --audio "$work/voice.wav" --duration "$2" --threshold loss=100 \
        --ndjson "$work/$1.events" "${@:3}"
    until_media server "${carrier:-udp}" || fail "$1: no media; $(cat "$work/$1.out")"
    clock
    caused=$now
}

# over: waits for the call's end; sets code, and after: milliseconds since the outage was caused.
over() {
    code=0
    wait "$calling" || code=$?
    clock
    after=$((now - caused))
}

# told NAME TEXT LIMIT-MS: waits until the events have TEXT; sets after.
told() {
    while ! grep -q "$2" "$work/$1.events"; do
        clock
        after=$((now - caused))
        ((after <= $3)) || return 0
        sleep 0.02
    done
    clock
    after=$((now - caused))
}

# judged NAME EXIT EXPECTED…: the report of the call that is over.
judged() {
    local findings
    if ! findings=$(report "$1" aborted=false "${@:3}"); then
        fail "$1: $findings; $(cat "$work/$1.out")"
    elif ((code != $2)); then
        fail "$1: exit $code, not $2; $findings"
    else
        pass "$1: $findings, exit $code${took:+; $took}"
    fi
    took=
    keep "$1"
}

# between NAME WHAT LEAST MOST: when it happened, in milliseconds after the outage was caused.
between() {
    took="$2 ${after} ms after the outage"
    ((after >= $3 && after <= $4)) || fail "$1: $2 after $after ms, not $3 to $4"
}

# keep NAME: the report stays where RECOVERY_REPORTS says.
keep() { [[ -z ${RECOVERY_REPORTS:-} ]] || cp "$work/$1.json" "$RECOVERY_REPORTS/$1.json"; }

on_path=(call.state=ended call.transport=webrtc call.transportFallbackReason=none call.outcome.reason=local)
gap_limit=700

# rebound NAME LIMIT-MS EXPECTED…: the NAT forgets the call's mapping and makes another; the straight way is shut.
rebound() {
    local seen held=$4
    inside nat nft flush chain ip nat mapping
    inside nat nft add rule ip nat mapping "snat to $outer"
    inside nat conntrack -D -p udp >/dev/null 2>&1 || true
    ip -n client link set to-server-2 down
    watch client any "$1"
    speak "$1" 8
    if [[ $held == held ]]; then tcp drop; fi
    inside nat nft flush chain ip nat mapping
    inside nat nft add rule ip nat mapping "meta l4proto udp snat to $outer:20000-20999"
    inside nat conntrack -D -p udp >/dev/null 2>&1 || true
    clock
    caused=$now
    sleep 3
    tcp ""
    over
    unwatch
    ip -n client link set to-server-2 up
    if seen=$(python3 -B Tests/Network/gap.py "$work/$1.wire" "$((caused / 1000)).$(printf %03d $((caused % 1000)))" "$2"); then
        took=$seen
    else
        fail "$1: $seen"
    fi
    judged "$1" 0 "${on_path[@]}" "${@:5}"
}

# With the line the server asks for a check at once: two round trips, of nothing here, and what a busy machine adds. Without it
# the silence has to be noticed first.
rebound rebind 100 "" at-hand "recovery.bridged_ms>=0"
rebound rebind-line-held 500 "" held recovery.outage_count=1 recovery.outcome=recovered "recovery.detect_ms>=290" \
    "recovery.gap_ms<=500"

# The interface that carries it goes; the other one is up.
speak interface 9
before=$(ip -n client -s -j link show to-server-2 | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["stats64"]["tx"]["packets"])')
sleep 0.4
later=$(ip -n client -s -j link show to-server-2 | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["stats64"]["tx"]["packets"])')
if ((later - before >= 10)); then active=to-server-2; else active=to-nat; fi
ip -n client link set "$active" down
over
ip -n client link set "$active" up
ip -n client route replace 192.0.2.0/24 via 10.0.0.1
took="$active down"
judged interface 0 "${on_path[@]}" recovery.outcome=recovered "recovery.gap_ms<=$gap_limit"

# The same as the probe makes it for itself, in two namespaces of its own.
current=own-network
code=0
timeout -k 2 60 "${ahead[@]}" "$probe" recover --cause interface --duration 6 --quiet --json "$work/own-network.json" \
    >"$work/own-network.out" 2>&1 || code=$?
judged own-network 0 "${on_path[@]}" recovery.how=namespace recovery.outcome=recovered recovery.mechanism=other_pair \
    "recovery.gap_ms<=$gap_limit"

# UDP is dead for four seconds.
speak udp-dead-4s 12
udp drop
sleep 4
udp ""
over
judged udp-dead-4s 0 "${on_path[@]}" recovery.outcome=recovered "recovery.gap_ms<=$gap_limit" "recovery.bridges>=1"

# UDP is dead for good: the call continues on the line, about ten seconds later.
speak udp-dead 16
udp drop
clock
caused=$now
told udp-dead recovery_failed 13000
between udp-dead "continued" 9900 10600
over
judged udp-dead 3 call.state=ended call.transport=websocket call.transportFallbackReason=recovery_failed \
    call.outcome.reason=local recovery.outcome=continued "recovery.gap_ms<=$gap_limit"

# UDP and the line are dead: nothing is left to continue on.
speak both-dead 20
udp drop
tcp drop
clock
caused=$now
over
between both-dead ended 9900 11000
judged both-dead 2 call.state=ended call.outcome.reason=failed recovery.outcome=failed

# The published contract: the call ends, and neither transport nor reason ever changes.
speak end-call 20 --recovery end-call
udp drop
clock
caused=$now
over
between end-call ended 9900 11000
judged end-call 2 call.state=ended call.transport=webrtc call.transportFallbackReason=none call.outcome.reason=failed \
    recovery.outcome=failed

# A call on the WebSocket whose line dies has nothing else.
carrier=tcp
speak line-reset 20 --transport websocket --recovery end-call
tcp "reject with tcp reset"
clock
caused=$now
over
between line-reset ended 0 1000
judged line-reset 2 call.state=ended call.transport=websocket call.transportFallbackReason=none call.outcome.reason=failed
finish
