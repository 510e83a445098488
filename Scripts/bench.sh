#!/usr/bin/env bash
# Builds and runs the benchmarks (release). Arguments go to transport-benchmarks: a filter, --json FILE, or one of its
# commands: echo, setup, handshakes, soak, allocations. `echo` needs its two relays as well, a process each.
set -euo pipefail
cd "$(dirname "$0")/.."

Scripts/build.sh release --product transport-benchmarks >&2
if [[ ${1:-} == echo ]]; then
    Scripts/build.sh release --product echo-relay >&2
    Scripts/build.sh release --product echo-relay-c >&2
fi
exec .build-release/release/transport-benchmarks "$@"
