#!/usr/bin/env bash
# Builds the soak (release) and runs a thousand calls in one process; fails when they leave anything behind. Arguments go
# to it: --calls N, --side-by-side N, --only webrtc|websocket.
set -euo pipefail
cd "$(dirname "$0")/.."

Scripts/build.sh release --product transport-benchmarks >&2
exec .build-release/release/transport-benchmarks soak "$@"
