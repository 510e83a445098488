#!/usr/bin/env bash
# A server and a client in two network namespaces joined by veth. Three calls: over WebRTC; with UDP dropped at the server's
# input; with UDP rejected there. The interface's counters must show that the carriage named is the one that carried the
# call, and what came back must be what was said. Then hang-ups by signal, at either end, on either carriage.
# Needs root or user namespaces, and what Scripts/setup.sh network-tests installs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

server=server
client=client
namespace "$server" "$client"
wire "$server" 192.0.2.1/24 "$client" 192.0.2.2/24
count_in "$server" "to-$client"
serve "$server" 192.0.2.1

# What the recording must come back as: every marker, level for level, frame for frame.
good=("media.level_correlation>=0.97" "media.frames_present_pct>=98")

# verdict RULE: what happens to UDP at the server's input; '' lets it through.
verdict() {
    inside "$server" nft flush chain inet probe verdict
    [[ -z $1 ]] || inside "$server" nft add rule inet probe verdict "$1"
}

# carried NAME VERDICT TRANSPORT REASON EXIT: a whole call, its report, and the packets of both kinds at the server's input.
carried() {
    current=$1
    verdict "$2"
    local udp_before tcp_before udp tcp least=150 findings
    udp_before=$(packets "$server" udp_in)
    tcp_before=$(packets "$server" tcp_in)
    call "$client" "$1"
    udp=$(($(packets "$server" udp_in) - udp_before))
    tcp=$(($(packets "$server" tcp_in) - tcp_before))
    if ! findings=$(report "$1" "call.transport=$3" "call.transportFallbackReason=$4" aborted=false "${good[@]}"); then
        fail "$1: $findings; $(cat "$work/$1.out")"
    elif ((code != $5)); then
        fail "$1: exit $code, not $5"
    else
        # Fifty audio packets a second are on the carriage that was named, and none on the other.
        local on=$udp off=$tcp
        if [[ $3 == websocket ]]; then on=$tcp off=$udp; fi
        if ((on < least || off > least / 3)); then
            fail "$1: $udp UDP and $tcp TCP packets at the server do not fit $3"
        else
            pass "$1: $findings, exit $code; at the server $udp UDP, $tcp TCP packets"
        fi
    fi
}

carried open "" webrtc none 0
carried dropped drop websocket ice_no_response 3
carried rejected "reject with icmp type admin-prohibited" websocket udp_blocked 3

# Sets now, milliseconds; without a process of its own, which a busy machine would take long to start.
clock() {
    now=${EPOCHREALTIME/[.,]/}
    now=$((now / 1000))
}

# The TCP connections of the call line that the server still has.
lines() { inside "$server" ss -Htn state established | wc -l; }

# Waits at most a second since SINCE for the client's end; sets after, milliseconds. Fails if it took longer.
ended_within_a_second() {
    while kill -0 "$calling" 2>/dev/null; do
        clock
        after=$((now - $1))
        ((after <= 1000)) || return 1
        sleep 0.02
    done
    clock
    after=$((now - $1))
}

# hung_up NAME VERDICT TRANSPORT SIGNAL WHO EXIT EXPECTED…: a call in its third second, then SIGNAL to the client or the server.
hung_up() {
    local name=$1 transport=$3 signal=$4 who=$5 expected=$6 findings before connections
    current=$name
    verdict "$2"
    place "$client" "$name" --duration 20
    # Audio on its way in both directions: the carriage named has brought a second of it.
    local kind=udp
    if [[ $transport == websocket ]]; then kind=tcp; fi
    until_media "$server" $kind || true
    clock
    local since=$now
    if [[ $who == server ]]; then kill "-$signal" "$serving"; else kill "-$signal" "$calling"; fi
    if ! ended_within_a_second "$since"; then
        fail "$name: the client is still there $after ms after SIG$signal to the $who"
        kill -KILL "$calling" 2>/dev/null || true
        wait "$calling" 2>/dev/null || true
        return
    fi
    code=0
    wait "$calling" || code=$?
    # And the server's end: its line is closed within the same second, and nothing goes on coming or going.
    clock
    while (($(lines) > 0 && now - since < 1000)); do clock; done
    connections=$(lines)
    before=$(($(packets "$server" udp_in) + $(packets "$server" udp_out)))
    sleep 0.5
    before=$(($(packets "$server" udp_in) + $(packets "$server" udp_out) - before))
    if ! findings=$(report "$name" "call.state=ended" "call.transport=$transport" "${@:7}"); then
        fail "$name: $findings; $(cat "$work/$name.out")"
    elif ((code != expected)); then
        fail "$name: exit $code, not $expected"
    elif ((connections > 0)); then
        fail "$name: $connections lines still at the server"
    elif ((before > 2)); then
        fail "$name: $before UDP packets after both ends were over"
    else
        pass "$name: over after $after ms: $findings, exit $code"
    fi
}

interrupted=(aborted=true call.outcome.reason=local "media.sent>=50" "media.received>=50")
hung_up interrupt-webrtc "" webrtc INT client 130 "${interrupted[@]}"
hung_up terminate-webrtc "" webrtc TERM client 130 "${interrupted[@]}"
hung_up interrupt-websocket drop websocket INT client 130 "${interrupted[@]}"
hung_up terminate-websocket drop websocket TERM client 130 "${interrupted[@]}"

# The server's own end: the client hears of it, and its report says so.
for carriage in "webrtc||0" "websocket|drop|3"; do
    IFS='|' read -r transport rule exit <<<"$carriage"
    kill -0 "$serving" 2>/dev/null || serve "$server" 192.0.2.1
    hung_up "server-$transport" "$rule" "$transport" TERM server "$exit" aborted=false call.outcome.reason=remote
    code=0
    wait "$serving" || code=$?
    if ((code == 0)); then pass "server: exit 0 after SIGTERM"; else fail "server: exit $code after SIGTERM, not 0"; fi
done
finish
