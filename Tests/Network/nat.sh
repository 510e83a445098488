#!/usr/bin/env bash
# A client behind a NAT, the NAT, a server: three network namespaces. A call through each kind of NAT (RFC 4787's words:
# endpoint-independent mapping and filtering; address- and port-dependent filtering; address- and port-dependent mapping), and
# calls whose mapping changes under them, which have to go on with the first check that comes through. A STUN server outside
# (coturn, nothing but STUN) tells each call its address, which has to be the one the NAT gave it.
# Needs root or user namespaces, and what Scripts/setup.sh network-tests installs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need conntrack turnserver ss

inner=10.0.0.2
outer=192.0.2.254
other=192.0.2.253
stun=192.0.2.2
namespace client nat server
wire client $inner/24 nat 10.0.0.1/24
wire nat $outer/24 server 192.0.2.1/24
ip -n nat addr add $other/24 dev to-server
ip -n server addr add $stun/24 dev to-nat
ip -n client route add default via 10.0.0.1
inside nat sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
count_in server to-nat
# Everything of the client's is mapped; what comes without a mapping vanishes, as it does in a NAT at home.
inside nat nft -f - <<RULES
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
    counter carried_udp { }
    counter carried_tcp { }
    chain slow { }
    chain passing {
        type filter hook forward priority 0
        ip daddr != $stun ip saddr != $stun ip protocol udp counter name "carried_udp"
        ip protocol tcp counter name "carried_tcp" jump slow
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

# The STUN server: on its one address in this namespace only, without TURN, TCP, TLS, an administrator's port or accounts.
cat >"$work/turnserver.conf" <<CONF
listening-ip=$stun
listening-port=3478
stun-only
no-tcp
no-tls
no-dtls
no-cli
no-rfc5780
no-tcp-relay
userdb=$work/turndb
pidfile=$work/turnserver.pid
log-file=stdout
CONF
inside server turnserver -c "$work/turnserver.conf" >"$work/turnserver.log" 2>&1 &
children+=("$!")
for _ in {1..100}; do
    [[ -z $(inside server ss -Hlun "src $stun:3478") ]] || break
    sleep 0.1
done
[[ -n $(inside server ss -Hlun "src $stun:3478") ]] ||
    { echo "error: the STUN server does not listen: $(cat "$work/turnserver.log")" >&2; exit 1; }

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

# mapping ADDRESS PORT: sets inside_port and outside_port, those of what the client sends there.
mapping() {
    local found
    found=$(inside nat conntrack -L -p udp --orig-src $inner --orig-dst "$1" --orig-port-dst "$2" 2>/dev/null |
        sed -n 's/.*sport=\([0-9]*\) .* dport=\([0-9]*\) .*/\1 \2/p' | head -n 1)
    read -r inside_port outside_port <<<"$found"
}

# passed COUNTER: the packets the NAT passed on, both ways; STUN's to the outside server not among them.
passed() { inside nat nft list counter ip nat "carried_$1" | sed -n 's/.*packets \([0-9]*\) .*/\1/p'; }

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

# through NAME RULE OPENING MAPPING STRAYS: a whole call through a NAT that keeps the port for every destination (MAPPING same)
# or takes one of its own for each (other), and lets STRAYS of five datagrams of a stranger's in.
through() {
    current=$1
    local findings got kept=other udp_before tcp_before over_udp over_tcp reflexive
    map "$2" "$3"
    udp_before=$(passed udp)
    tcp_before=$(passed tcp)
    place client "$1" --stun "stun:$stun"
    until_media server || { fail "$1: no media over UDP; $(cat "$work/$1.out")"; }
    mapping $stun 3478
    reflexive=$outside_port
    mapping 192.0.2.1 "$udp"
    if [[ $inside_port == "$outside_port" ]]; then kept=same; fi
    got=$(strays)
    code=0
    wait "$calling" || code=$?
    over_udp=$(($(passed udp) - udp_before))
    over_tcp=$(($(passed tcp) - tcp_before))
    if ! findings=$(report "$1" call.transport=webrtc call.transportFallbackReason=none aborted=false \
        "media.level_correlation>=0.97" "media.frames_present_pct>=98" "ice.reflexive=[\"$outer:$reflexive\"]"); then
        fail "$1: $findings; $(cat "$work/$1.out")"
    elif ((code != 0)); then
        fail "$1: exit $code, not 0"
    elif [[ $kept != "$4" || $got != "$5" ]]; then
        fail "$1: this is no such NAT: the port is the $kept ($inside_port, $outside_port outside), $got of 5 strays came in"
    elif [[ $4 == same && $reflexive != "$outside_port" || $4 == other && $reflexive == "$outside_port" ]]; then
        fail "$1: this is no such NAT: port $reflexive towards the STUN server, $outside_port towards the endpoint"
    elif ((over_udp < 300 || over_tcp > over_udp / 3)); then
        fail "$1: the NAT passed $over_udp UDP and $over_tcp TCP packets"
    else
        pass "$1: $findings; port $inside_port is $outside_port outside, $got of 5 strays came in; the NAT passed" \
            "$over_udp UDP and $over_tcp TCP packets"
    fi
}

# Milliseconds. Without a line that carries it, the endpoint's wish for a check comes to nothing, and the check comes when consent
# is due: every 5 s, times 0.8 to 1.2. With it, it takes two round trips of nothing and what a busy machine adds. From the check on
# three packets' time.
asked_limit=200
consent_limit=6200
move_limit=60

# moved NAME RULE CHECK-LIMIT LOST: a call in its third second whose mapping is lost; the next one is RULE's. At most LOST packets
# of the echo's do not come.
moved() {
    current=$1
    local findings seen
    map "snat to $outer" ""
    watch server to-nat "$1"
    place client "$1" --duration 14
    until_media server || { fail "$1: no media over UDP; $(cat "$work/$1.out")"; }
    inside nat nft flush chain ip nat mapping
    inside nat nft add rule ip nat mapping "$2"
    if (($3 == consent_limit)); then inside nat nft add rule ip nat slow drop; fi
    forget
    if (($3 == consent_limit)); then
        sleep 7
        inside nat nft flush chain ip nat slow
    fi
    code=0
    wait "$calling" || code=$?
    unwatch
    if ! seen=$(python3 -B Tests/Network/moved.py "$work/$1.wire" "$3" $move_limit); then
        fail "$1: $seen; $(report "$1" call.transport=webrtc call.transportFallbackReason=none || true)"
    elif ! findings=$(report "$1" call.state=ended call.transport=webrtc call.transportFallbackReason=none aborted=false \
        call.outcome.reason=local "media.lost<=$4"); then
        fail "$1: $findings; $seen"
    else
        pass "$1: $seen; $findings"
    fi
}

through full-cone "masquerade" "dnat to $inner" same 5
through port-restricted "masquerade" "" same 0
through symmetric "masquerade random,fully-random" "" other 0
# Ports that no socket of the client's has by itself: the kernel takes those from 32768 on.
moved port-changed "meta l4proto udp snat to $outer:20000-20999" $asked_limit 15
moved address-changed "snat to $other" $asked_limit 15
# The line stands still while it matters.
moved unasked "meta l4proto udp snat to $outer:20000-20999" $consent_limit 330
finish
