#!/usr/bin/env bash
# Builds the probe (release) and runs its self-test. Arguments go to the probe.
set -euo pipefail
cd "$(dirname "$0")/.."

# Quiet when it works: the self-test's own screen is what there is to see.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [[ -t 2 ]]; then printf 'building (release) …\r' >&2; else echo 'building (release) …' >&2; fi
if ! Scripts/build.sh release --product graine-transport-probe >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
if grep -E '(^|[ :])warning:' "$log" >&2; then
    echo "error: the build gave warnings" >&2
    exit 1
fi
.build-release/release/graine-transport-probe check "$@"
