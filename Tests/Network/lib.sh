# shellcheck shell=bash disable=SC2034
# Sourced by the scripts beside it: network namespaces of the script's own, an echo server in one of them, and what a call's
# report must say. Whatever is missing is an error; nothing is skipped.
#
# Everything lives in a mount namespace of the script's own and hangs on its processes: nothing is left behind however the
# script ends, and two runs do not meet.
set -Eeuo pipefail

# need TOOL…
need() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null ||
            { echo "error: $tool is missing; Scripts/setup.sh network-tests installs it" >&2; exit 1; }
    done
}
need ip nft nsenter unshare setpriv python3
if [[ -z ${GRAINE_OWN_NAMESPACES:-} ]]; then
    # Without root: as the root of a user namespace, where the system lets one be made.
    as_root=()
    if ((EUID != 0)); then as_root=(--user --map-root-user); fi
    if ! unshare "${as_root[@]}" --mount --net true; then
        echo "error: this machine lets no namespaces be made (needs root or user namespaces)" >&2
        exit 1
    fi
    GRAINE_OWN_NAMESPACES=1 exec unshare "${as_root[@]}" --mount --net "$BASH" "$0" "$@"
fi
mount -t tmpfs tmpfs /run

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
probe=$PWD/${PROBE:-.build-release/release/graine-transport-probe}
[[ -x $probe ]] || { echo "error: no probe at $probe; Scripts/build.sh makes it" >&2; exit 1; }

# In the file system that goes with the namespace.
work=/run/work
mkdir $work
children=()
cleanup() {
    local child
    for child in ${children[@]+"${children[@]}"}; do
        kill -KILL "$child" 2>/dev/null || continue
        wait "$child" 2>/dev/null || true
    done
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

passed=0
failed=0
current=start
# An unforeseen failure of a command says where it was.
trap 'echo "error: $current: line $LINENO: $BASH_COMMAND" >&2' ERR

pass() {
    passed=$((passed + 1))
    echo "ok: $*"
}
fail() {
    failed=$((failed + 1))
    echo "error: $1" >&2
}

# What a command in a namespace runs behind: it dies with this script, and, where root may say so, goes before whatever else
# makes the machine busy, for audio is judged here.
ahead=(setpriv --pdeathsig KILL)
if chrt --rr 1 true 2>/dev/null; then ahead+=(chrt --rr 1); fi

# inside NAMESPACE COMMAND…: runs it there.
inside() { "${ahead[@]}" nsenter --net="/run/netns/$1" -- "${@:2}"; }

# namespace NAME…
namespace() {
    local name
    for name; do
        ip netns add "$name"
        ip -n "$name" link set lo up
    done
}

# wire NAMESPACE ADDRESS/LENGTH NAMESPACE ADDRESS/LENGTH [SUFFIX]: joins the two by a veth named for who is at the other end,
# with the suffix where there is another one already.
wire() {
    local there=to-$3${5:-} back=to-$1${5:-} now=()
    # No duplicates to be detected here, which would take a second.
    if [[ $2 == *:* ]]; then now=(nodad); fi
    ip -n "$1" link add "$there" type veth peer name "$back" netns "$3"
    ip -n "$1" addr add "$2" dev "$there" ${now[@]+"${now[@]}"}
    ip -n "$3" addr add "$4" dev "$back" ${now[@]+"${now[@]}"}
    ip -n "$1" link set "$there" up
    ip -n "$3" link set "$back" up
}

# settle NAMESPACE…: waits until no address there is still looked for duplicates of: until then Chromium and libnice may use none.
settle() {
    local name
    for name; do
        for _ in {1..50}; do
            [[ -n $(ip -n "$name" addr show tentative) ]] || continue 2
            sleep 0.1
        done
        echo "error: the addresses of $name are still tentative" >&2
        exit 1
    done
}

# count_in NAMESPACE DEVICE: counts the UDP and TCP packets that come and go there, and holds the verdict on UDP that comes.
count_in() {
    inside "$1" nft -f - <<RULES
table inet probe {
    counter udp_in { }
    counter tcp_in { }
    counter udp_out { }
    counter tcp_out { }
    chain verdict { }
    chain input {
        type filter hook input priority 0
        iifname "$2" meta l4proto udp counter name "udp_in" jump verdict
        iifname "$2" meta l4proto tcp counter name "tcp_in"
    }
    chain output {
        type filter hook output priority 0
        oifname "$2" meta l4proto udp counter name "udp_out"
        oifname "$2" meta l4proto tcp counter name "tcp_out"
    }
}
RULES
}

# packets NAMESPACE COUNTER
packets() { inside "$1" nft list counter inet probe "$2" | sed -n 's/.*packets \([0-9]*\) .*/\1/p'; }

# until_media NAMESPACE [udp|tcp]: waits until a call in the background has brought more than a second of media there.
until_media() {
    local before counter=${2:-udp}_in
    before=$(packets "$1" "$counter")
    for _ in {1..100}; do
        (($(packets "$1" "$counter") - before < 70)) || return 0
        sleep 0.1
    done
    return 1
}

# serve NAMESPACE ADDRESSES ARGUMENTS…: an echo server; sets serving (its process), line (its URL), udp (its port) and ca (its
# certificate).
serve() {
    : >"$work/serve"
    "${ahead[@]}" nsenter --net="/run/netns/$1" -- \
        "$probe" serve --bind "$2" "${@:3}" --ca-out "$work/ca.pem" >"$work/serve" 2>"$work/serve.log" &
    serving=$!
    children+=("$serving")
    for _ in {1..100}; do
        ! grep -q ^READY "$work/serve" || break
        sleep 0.1
    done
    read -r line udp ca < <(sed -n 's/^READY line=\([^ ]*\) udp=\([^ ]*\).* ca=\(.*\)/\1 \2 \3/p' "$work/serve") ||
        { echo "error: serve is not ready: $(cat "$work/serve.log")" >&2; exit 1; }
}

# place NAMESPACE NAME ARGUMENTS…: starts a call there in the background; sets calling (its process). Its report: $work/NAME.json.
place() {
    "${ahead[@]}" nsenter --net="/run/netns/$1" -- \
        "$probe" call "$line" --ca "$ca" --quiet --json "$work/$2.json" "${@:3}" >"$work/$2.out" 2>&1 &
    calling=$!
    children+=("$calling")
}

# call NAMESPACE NAME ARGUMENTS…: places a call and waits for its end; sets code (its exit code).
call() {
    place "$@"
    code=0
    wait "$calling" || code=$?
}

# watch NAMESPACE INTERFACE NAME: has every UDP packet there written to $work/NAME.wire by Tests/Network/watch.py from now on.
watch() {
    inside "$1" python3 -B Tests/Network/watch.py "$2" "$work/$3.wire" &
    watching=$!
    children+=("$watching")
    for _ in {1..100}; do
        [[ ! -e $work/$3.wire ]] || return 0
        sleep 0.1
    done
    echo "error: nothing watches the packets of $3" >&2
    exit 1
}

# unwatch: ends that.
unwatch() {
    kill "$watching"
    wait "$watching" 2>/dev/null || true
}

# report NAME EXPECTED…: what Tests/Network/report.py finds wrong with the call's report, or its figures.
report() { python3 -B Tests/Network/report.py "$work/$1.json" "${@:2}"; }

# Ends the script with a line that says how many passed.
finish() {
    echo "$(basename "$0" .sh): $passed passed, $failed failed"
    exit $((failed > 0))
}
