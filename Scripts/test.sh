#!/usr/bin/env bash
# Every test, in a debug build of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
exec swift test --disable-xctest --scratch-path .build "$@"
