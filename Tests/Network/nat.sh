#!/usr/bin/env bash
# A client behind a NAT, the NAT, a server: three network namespaces. A call through each kind of NAT (RFC 4787's words:
# endpoint-independent mapping and filtering; address- and port-dependent filtering; address- and port-dependent mapping), and
# calls whose mapping changes under them, which have to go on with the first check that comes through.
# Needs root or user namespaces, and what Scripts/setup.sh network-tests installs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need conntrack

inner=10.0.0.2
outer=192.0.2.254
other=192.0.2.253
namespace client nat server
wire client $inner/24 nat 10.0.0.1/24
wire nat $outer/24 server 192.0.2.1/24
ip -n nat addr add $other/24 dev to-server
ip -n client route add default via 10.0.0.1
inside nat sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
count_in server to-nat
# Everything of the client's is mapped; what comes without a mapping vanishes, as it does in a NAT at home.
inside nat nft -f - <<'RULES'
table ip nat {
    chain mapping { }
    chain opening { }
    chain out {
        type nat hook postrouting priority srcnat
        oifname "to-server" ip protocol udp jump mapping
        oifname "to-server" masquerade
    }
    chain in {
        type nat hook prerouting priority dstnat
        iifname "to-server" ip protocol udp jump opening
    }
    chain unmapped {
        type filter hook input priority 0
        iifname "to-server" ip protocol udp drop
    }
}
RULES
inside client nft -f - <<'RULES'
table ip stray {
    counter stray { }
    chain input {
        type filter hook input priority 0
        udp sport 9 counter name "stray" drop
    }
}
RULES
serve server 192.0.2.1

# map RULE OPENING: how the NAT maps what goes out, and what it lets in unasked; forgets all mappings of before.
map() {
    inside nat nft flush chain ip nat mapping
    inside nat nft flush chain ip nat opening
    inside nat nft add rule ip nat mapping "$1"
    [[ -z $2 ]] || inside nat nft add rule ip nat opening "$2"
    forget
}

# Forgets the mappings of UDP, as a NAT that restarts or is short of room does. The line's stays.
forget() { inside nat conntrack -D -p udp >/dev/null 2>&1 || true; }

# mapping: sets inside_port and outside_port, those of the call's media.
mapping() {
    local found
    found=$(inside nat conntrack -L -p udp --orig-src $inner --orig-port-dst "$udp" 2>/dev/null |
        sed -n 's/.*sport=\([0-9]*\) .* dport=\([0-9]*\) .*/\1 \2/p' | head -n 1)
    read -r inside_port outside_port <<<"$found"
}

# strays: how many of five datagrams from a port nothing was sent to reach the client through the mapping.
strays() {
    local before
    before=$(inside client nft list counter ip stray stray | sed -n 's/.*packets \([0-9]*\) .*/\1/p')
    inside server python3 -c '
import socket, sys
wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
wire.bind(("192.0.2.1", 9))
for _ in range(5):
    wire.sendto(b"stray", (sys.argv[1], int(sys.argv[2])))' "$outer" "$outside_port"
    sleep 0.2
    echo $(($(inside client nft list counter ip stray stray | sed -n 's/.*packets \([0-9]*\) .*/\1/p') - before))
}

# Waits until the call in the background has a second of media at the server.
until_media() {
    local before
    before=$(packets server udp_in)
    for _ in {1..100}; do
        (($(packets server udp_in) - before < 70)) || return 0
        sleep 0.1
    done
    return 1
}

# through NAME RULE OPENING MAPPING STRAYS: a whole call through a NAT that keeps the port (MAPPING same) or takes one of its
# own (other), and lets STRAYS of five datagrams of a stranger's in.
through() {
    current=$1
    local findings got kept=other
    map "$2" "$3"
    place client "$1"
    until_media || { fail "$1: no media over UDP; $(cat "$work/$1.out")"; }
    mapping
    if [[ $inside_port == "$outside_port" ]]; then kept=same; fi
    got=$(strays)
    code=0
    wait "$calling" || code=$?
    if ! findings=$(report "$1" call.transport=webrtc call.transportFallbackReason=none aborted=false \
        "media.level_correlation>=0.97" "media.frames_present_pct>=98"); then
        fail "$1: $findings; $(cat "$work/$1.out")"
    elif ((code != 0)); then
        fail "$1: exit $code, not 0"
    elif [[ $kept != "$4" || $got != "$5" ]]; then
        fail "$1: this is no such NAT: the port is the $kept ($inside_port, $outside_port outside), $got of 5 strays came in"
    else
        pass "$1: $findings; port $inside_port is $outside_port outside, $got of 5 strays came in"
    fi
}

# Milliseconds. A check comes from the new address when consent is due: every 5 s, times 0.8 to 1.2. From the check on three
# packets' time.
check_limit=6200
move_limit=60

# moved NAME RULE: a call in its third second whose mapping is lost; the next one is RULE's.
moved() {
    current=$1
    local findings seen watching
    map "snat to $outer" ""
    inside server python3 -B Tests/Network/watch.py to-nat "$work/$1.wire" &
    watching=$!
    children+=("$watching")
    place client "$1" --duration 14
    until_media || { fail "$1: no media over UDP; $(cat "$work/$1.out")"; }
    inside nat nft flush chain ip nat mapping
    inside nat nft add rule ip nat mapping "$2"
    forget
    code=0
    wait "$calling" || code=$?
    kill "$watching"
    wait "$watching" 2>/dev/null || true
    if ! seen=$(python3 -B Tests/Network/moved.py "$work/$1.wire" $check_limit $move_limit); then
        fail "$1: $seen; $(report "$1" call.transport=webrtc call.transportFallbackReason=none || true)"
    elif ! findings=$(report "$1" call.state=ended call.transport=webrtc call.transportFallbackReason=none aborted=false \
        call.outcome.reason=local dtls.retransmits=0); then
        fail "$1: $findings; $seen"
    else
        pass "$1: $seen; $findings"
    fi
}

through full-cone "masquerade" "dnat to $inner" same 5
through port-restricted "masquerade" "" same 0
through symmetric "masquerade random,fully-random" "" other 0
moved port-changed "meta l4proto udp snat to $outer:50000-50999"
moved address-changed "snat to $other"
finish
