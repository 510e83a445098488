#!/usr/bin/env bash
# Builds the tests with ThreadSanitizer and uses calls from many threads for 30 s (or as long as told): fails at a data race.
# Usage: Scripts/tsan.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."

export GRAINE_STRESS_SECONDS=${1:-30}
export TSAN_OPTIONS="halt_on_error=1 exitcode=66"
swift test --sanitize=thread --disable-xctest --scratch-path .build-tsan --filter ManyThreadsTests
