#!/usr/bin/env bash
# Runs all tests (debug). Arguments go to swift test, for example: --filter STUN, --sanitize=address with SCRATCH=.build-asan.
set -euo pipefail
cd "$(dirname "$0")/.."

# Tests wait for sockets while others compute, on one pool with a thread a core: with all of them at once those that wait
# starve on a busy machine.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="${SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH:-4}"
exec swift test --disable-xctest --scratch-path "${SCRATCH:-.build}" "$@"
