#!/usr/bin/env bash
# Builds the simulation (release) and runs whole calls on a virtual clock, one process a core; then the first hundredth of
# them again in one process, which must come to the same trace. Fails when a rule is broken.
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
exec "$simulation" run --seeds "$seeds" --processes "$(nproc)"
