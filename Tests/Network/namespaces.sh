#!/usr/bin/env bash
# A server and a client in two network namespaces joined by veth: WebRTC; UDP dropped at the server's input; UDP rejected
# there. The interface's counters must show that the carriage named is the one that carried the call. Needs root, ip, nft.
set -euo pipefail
cd "$(dirname "$0")/../.."

probe=${PROBE:-.build-release/release/graine-transport-probe}
work=$(mktemp -d)
server=graine-s-$$
client=graine-c-$$
serving=
cleanup() {
    [ -z "$serving" ] || kill "$serving" 2>/dev/null || true
    ip netns del "$server" 2>/dev/null || true
    ip netns del "$client" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

ip netns add "$server"
ip netns add "$client"
ip -n "$server" link add veth0 type veth peer name veth1 netns "$client"
ip -n "$server" addr add 192.0.2.1/24 dev veth0
ip -n "$client" addr add 192.0.2.2/24 dev veth1
for pair in "$server veth0" "$client veth1"; do
    read -r namespace device <<<"$pair"
    ip -n "$namespace" link set lo up
    ip -n "$namespace" link set "$device" up
done
# Counts what arrives, and holds the verdict on UDP.
ip netns exec "$server" nft -f - <<'RULES'
table inet probe {
    counter udp_in { }
    counter tcp_in { }
    chain verdict { }
    chain input {
        type filter hook input priority 0
        meta l4proto udp counter name "udp_in"
        meta l4proto tcp counter name "tcp_in"
        iifname veth0 meta l4proto udp jump verdict
    }
}
RULES

ip netns exec "$server" "$probe" serve --bind 192.0.2.1 >"$work/serve" 2>"$work/serve.log" &
serving=$!
for _ in $(seq 100); do
    grep -q ^READY "$work/serve" && break
    sleep 0.1
done
line=$(sed -n 's/^READY line=\([^ ]*\) .*/\1/p' "$work/serve")
ca=$(sed -n 's/^READY .* ca=\(.*\)/\1/p' "$work/serve")
[ -n "$line" ] || { echo "error: serve is not ready: $(cat "$work/serve.log")" >&2; exit 1; }

packets() { ip netns exec "$server" nft list counter inet probe "${1}_in" | sed -n 's/.*packets \([0-9]*\) .*/\1/p'; }

passed=0
# call NAME VERDICT TRANSPORT REASON EXIT CARRIER
call() {
    local name=$1 verdict=$2 transport=$3 reason=$4 expected=$5 carrier=$6 code=0 before after
    ip netns exec "$server" nft flush chain inet probe verdict
    [ -z "$verdict" ] || ip netns exec "$server" nft add rule inet probe verdict "$verdict"
    before=$(packets "$carrier")
    ip netns exec "$client" "$probe" call "$line" --ca "$ca" --duration 4 --quiet --json "$work/$name.json" \
        >"$work/$name.out" 2>&1 || code=$?
    after=$(packets "$carrier")
    local found
    found=$(python3 -c '
import json, sys
call = json.load(open(sys.argv[1]))["calls"][0]["call"]
print(call["transport"], call["transportFallbackReason"] or "none")' "$work/$name.json")
    if [ "$found" != "$transport $reason" ] || [ "$code" -ne "$expected" ] || [ $((after - before)) -lt 150 ]; then
        echo "error: $name: $found, exit $code, $((after - before)) $carrier packets at the server" >&2
        cat "$work/$name.out" >&2
        exit 1
    fi
    passed=$((passed + 1))
    echo "$name: $found, exit $code, $((after - before)) $carrier packets at the server"
}

call open "" webrtc none 0 udp
call dropped drop websocket ice_no_response 3 tcp
call rejected "reject with icmp type admin-prohibited" websocket udp_blocked 3 tcp
echo "namespaces: $passed passed, 0 failed"
