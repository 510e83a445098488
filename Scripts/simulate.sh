#!/usr/bin/env bash
# Builds the simulation (release) and runs whole calls on a virtual clock, one process a core; the first hundredth of them
# again in one process, which must come to the same trace. Fails when a rule is broken that Tests/Simulation/known.txt does not
# have for that seed, and when what stands there is broken no more.
# Then twenty minutes of one call whose link stalls for 500 ms every 20 s: bridged at most each time, and never recovering.
# Usage: Scripts/simulate.sh [A..B]   the seeds, 1..10000 unless told
set -euo pipefail
cd "$(dirname "$0")/.."

seeds=${1:-1..10000}
first=${seeds%%..*}
last=${seeds##*..}
Scripts/build.sh release --product call-simulation >&2
simulation=.build-release/release/call-simulation

few=$first..$((first + (last - first) / 100))
hash() { "$simulation" run --seeds "$few" --processes "$1" --json | grep -o '"traceHash":[0-9]*' || true; }
once=$(hash 1)
again=$(hash 2)
if [[ -z $once || $once != "$again" ]]; then
    echo "error: the seeds $few do not come to the same trace in two runs: $once, $again" >&2
    exit 1
fi

out=$(mktemp)
trap 'rm -f "$out"' EXIT
code=0
"$simulation" run --seeds "$seeds" --processes "$(nproc)" >"$out" || code=$?
cat "$out"
# 1 is a broken rule; anything else is no result at all.
((code <= 1)) || exit "$code"
grep -q '^trace hash' "$out" || { echo "error: no calls were run" >&2; exit 70; }
broken=$(sed -n 's/^seed \([0-9]*\), invariant \([0-9]*\),.*/\1 \2/p' "$out" | sort -u)
known=$(awk -v first="$first" -v last="$last" '/^[0-9]/ && $1 >= first && $1 <= last { print $1, $2 }' Tests/Simulation/known.txt |
    sort -u)
if [[ $broken != "$known" ]]; then
    echo "error: the calls that break a rule are not those of Tests/Simulation/known.txt (< broken, > known):" >&2
    diff <(echo "$broken") <(echo "$known") >&2 || true
    exit 1
fi
echo "rules: nothing broken but the $(grep -c . <<<"$known" || true) calls of Tests/Simulation/known.txt"

"$simulation" scenario Tests/Simulation/stalls.scenario >"$out" || { tail -40 "$out"; exit 1; }
recovering=$(grep -c RECOVERING "$out" || true)
bridges=$(grep -cE '^ +[0-9.]+ s  bridge on' "$out" || true)
stalls=$(grep -c ' drop ' Tests/Simulation/stalls.scenario)
echo "stalls: $stalls of 500 ms in 20 minutes, $bridges bridged by the client, 2 s each at least, $recovering times recovering"
if ((recovering > 0 || bridges == 0 || bridges > stalls)) || grep -q 'epoch 2' "$out"; then
    echo "error: stalls of 500 ms are to be bridged, and no more" >&2
    exit 1
fi
