#!/usr/bin/env bash
# Calls where the way matters: to a server with two addresses behind two providers, each of which takes only its own address as a
# source, so that an answer has to leave from the address its check came to; and from a client whose IPv6 leads nowhere, which has
# to be a call over IPv4 and is compared with one that never heard of IPv6.
# Needs root or user namespaces, and what Scripts/setup.sh network-tests installs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need openssl

# What the recording must come back as.
good=(call.transport=webrtc call.transportFallbackReason=none aborted=false)
good+=("media.level_correlation>=0.97" "media.frames_present_pct>=98")

# Ends the server of before.
unserve() {
    kill "$serving"
    wait "$serving" 2>/dev/null || true
}

first=192.0.2.1
second=198.51.100.1
namespace caller providers dual
wire caller 203.0.113.2/24 providers 203.0.113.1/24
wire providers 192.0.2.254/24 dual $first/24 -1
wire providers 198.51.100.254/24 dual $second/24 -2
ip -n caller route add default via 203.0.113.1
inside providers sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
# By destination alone everything would leave by the first; by the rule, what has the second's address leaves there.
ip -n dual route add default via 192.0.2.254
ip -n dual route add default via 198.51.100.254 table 2
ip -n dual rule add from $second table 2
# BCP 38.
inside providers nft -f - <<RULES
table ip providers {
    counter spoofed { }
    chain passing {
        type filter hook forward priority 0
        iifname "to-dual-1" ip saddr != $first counter name "spoofed" drop
        iifname "to-dual-2" ip saddr != $second counter name "spoofed" drop
    }
}
RULES
spoofed() { inside providers nft list counter ip providers spoofed | sed -n 's/.*packets \([0-9]*\) .*/\1/p'; }

# dual NAME BIND ADDRESS: a whole call to ADDRESS of a server bound to BIND, whose media goes there too.
dual() {
    current=$1
    local findings seen
    serve dual "$2"
    line="wss://$3:${line##*:}"
    watch dual any "$1"
    call caller "$1"
    unwatch
    unserve
    if ! findings=$(report "$1" "${good[@]}" "ice.pair.remote=$3:$udp"); then
        fail "$1: $findings; $(cat "$work/$1.out"); $(python3 -B Tests/Network/answered.py "$work/$1.wire" "$3" || true)"
    elif ! seen=$(python3 -B Tests/Network/answered.py "$work/$1.wire" "$3"); then
        fail "$1: $seen"
    elif (($(spoofed) > 0)); then
        fail "$1: $(spoofed) packets left by the other address's way"
    else
        pass "$1: $findings; $seen"
    fi
}

dual any-first any $first
dual any-second any $second
dual each-first $first,$second $first
dual each-second $first,$second $second

# IPv6: an address, a default route, and behind it a router that keeps what it should pass on, and says nothing.
v6=2001:db8:2::1
namespace client server hole
wire client 192.0.2.2/24 server 192.0.2.1/24
wire client 2001:db8:1::2/64 hole 2001:db8:1::1/64
wire hole 2001:db8:2::2/64 server $v6/64
ip -n client -6 route add default via 2001:db8:1::1
ip -n server -6 route add default via 2001:db8:2::2
inside hole sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
inside hole nft -f - <<RULES
table ip6 hole {
    counter swallowed { }
    chain verdict { }
    chain passing {
        type filter hook forward priority 0
        ip6 daddr $v6 jump verdict
    }
}
RULES
# swallowed: the packets for the server that ended in the hole.
swallowed() { inside hole nft list counter ip6 hole swallowed | sed -n 's/.*packets \([0-9]*\) .*/\1/p'; }

# Names, for this script's processes only.
printf '192.0.2.1 v4.test\n192.0.2.1 both.test\n%s both.test\n' $v6 >"$work/hosts"
mount --bind "$work/hosts" /etc/hosts
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=both.test \
    -addext subjectAltName=DNS:both.test,DNS:v4.test -keyout "$work/key.pem" -out "$work/cert.pem" 2>"$work/openssl.log" ||
    { echo "error: no certificate: $(cat "$work/openssl.log")" >&2; exit 1; }
serve server 192.0.2.1,$v6 --cert "$work/cert.pem" --cert-key "$work/key.pem"
port=${line##*:}
port=${port%/}

# named NAME HOST WHAT LEAST: a whole call to HOST while WHAT goes into the hole, which gets at least LEAST packets.
named() {
    current=$1
    local findings before count
    line=wss://$2:$port/
    inside hole nft flush chain ip6 hole verdict
    # shellcheck disable=SC2086
    inside hole nft add rule ip6 hole verdict $3 counter name swallowed drop
    before=$(swallowed)
    call client "$1"
    count=$(($(swallowed) - before))
    if ! findings=$(report "$1" "${good[@]}" "ice.pair.remote=192.0.2.1:$udp" "setup.tcp_ms>=0" "setup.welcome_ms>=0" \
        "setup.ice_ms>=0" "setup.active_ms>=0"); then
        fail "$1: $findings; $(cat "$work/$1.out")"
    elif ((count < $4)); then
        fail "$1: $count packets went into the hole, at least $4 should; $findings"
    else
        pass "$1: $findings; $count packets into the hole"
    fi
}

named v4-alone v4.test "" 0
named v6-broken both.test "" 1
named v6-without-udp both.test "meta l4proto udp" 1
finish
