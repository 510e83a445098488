#!/usr/bin/env bash
# Our client and Chromium, whose page restarts ICE when its connection is lost, in the same outages, in turns: UDP dead for four
# seconds, for eight, and a NAT that gives another mapping. How long each hears nothing, by the packets on its wire.
#
#   Benchmarks/outages.sh [ROUNDS]      3 rounds unless told
#
# Chromium and the modules are those of Tests/Interop, which Scripts/interop.sh install installs.
source "$(dirname "${BASH_SOURCE[0]}")/../Tests/Network/lib.sh"
need conntrack chromium

rounds=${1:-3}
[[ $rounds =~ ^[1-9][0-9]{0,2}$ ]] || { echo "error: outages.sh [ROUNDS]" >&2; exit 64; }
python=$PWD/.venv-interop/bin/python
[[ -x $python ]] || { echo "error: no $python; Scripts/interop.sh install makes it" >&2; exit 1; }

outer=192.0.2.254
namespace client nat server
wire client 10.0.0.2/24 nat 10.0.0.1/24
wire nat $outer/24 server 192.0.2.1/24
ip -n client route add default via 10.0.0.1
inside nat sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
inside nat nft -f - <<RULES
table ip nat {
    chain mapping { }
    chain verdict { }
    chain out {
        type nat hook postrouting priority srcnat
        oifname "to-server" ip protocol udp jump mapping
        oifname "to-server" masquerade
    }
    chain passing {
        type filter hook forward priority 0
        ip protocol udp jump verdict
    }
    chain unmapped {
        type filter hook input priority 0
        iifname "to-server" ip protocol udp drop
    }
}
RULES
count_in server to-nat
settle client nat server

# nat CHAIN RULE
nat() {
    inside nat nft flush chain ip nat "$1"
    [[ -z $2 ]] || inside nat nft add rule ip nat "$1" "$2"
}
forget() { inside nat conntrack -D -p udp >/dev/null 2>&1 || true; }

# broken PEER OUTAGE NAME: one call of it, 20 s from its third second on; a line with the gap.
broken() {
    current=$3
    local calling up gap kinds=(rtp)
    nat verdict ""
    nat mapping "snat to $outer"
    forget
    serve server 192.0.2.1
    watch client any "$3"
    if [[ $1 == ours ]]; then
        kinds=()
        "${ahead[@]}" nsenter --net=/run/netns/client -- "$probe" call "$line" --ca "$ca" --quiet --duration 24 \
            --threshold loss=100 --json "$work/$3.json" >"$work/$3.out" 2>&1 &
    else
        "${ahead[@]}" nsenter --net=/run/netns/client -- "$python" -B Benchmarks/outage_chromium.py --line "$line" --ca "$ca" \
            --endpoint "$serving" --talk 24 --report "$work/$3.json" >"$work/$3.out" 2>&1 &
    fi
    calling=$!
    children+=("$calling")
    until_media server || { cat "$work/$3.out" >&2; exit 1; }
    sleep 2
    read -r up _ </proc/uptime
    case $2 in
    dead-*)
        nat verdict drop
        sleep "${2#dead-}"
        nat verdict ""
        ;;
    rebind)
        nat mapping "meta l4proto udp snat to $outer:20000-20999"
        forget
        ;;
    esac
    wait "$calling" || [[ $1 == ours ]] || { tail -n 20 "$work/$3.out" >&2; exit 1; }
    unwatch
    kill "$serving" 2>/dev/null || true
    wait "$serving" 2>/dev/null || true
    gap=$(python3 -B Tests/Network/gap.py "$work/$3.wire" "$up" 60000 ${kinds[@]+"${kinds[@]}"}) || true
    echo "$1 $2: $gap$("$python" -B -c '
import json, sys
report = json.load(open(sys.argv[1]))
if "states" in report:
    print(";", report["restarts"], "restarts;", *(f"{state} at {at}" for at, state in report["states"]), end="")
else:
    print(";", [(o["mechanism"], o["outcome"]) for o in report["recovery"]["outages"]], end="")' "$work/$3.json")"
}

for ((round = 0; round < rounds; round++)); do
    for outage in dead-4 dead-8 rebind; do
        for peer in ours chromium; do broken "$peer" "$outage" "$peer-$outage-$round"; done
    done
done
