#!/usr/bin/env bash
# Runs all tests (debug). Arguments go to swift test, for example: --filter STUN, --sanitize=address with SCRATCH=.build-asan.
set -euo pipefail
cd "$(dirname "$0")/.."

exec swift test --disable-xctest --scratch-path "${SCRATCH:-.build}" "$@"
