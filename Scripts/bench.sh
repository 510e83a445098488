#!/usr/bin/env bash
# Builds and runs the benchmarks (release). Arguments go to transport-benchmarks: a filter, --json FILE.
set -euo pipefail
cd "$(dirname "$0")/.."

Scripts/build.sh release --product transport-benchmarks >&2
exec .build-release/release/transport-benchmarks "$@"
