#!/usr/bin/env bash
# Builds. `build.sh release` (default) into .build-release, `build.sh debug` into .build: a scratch path per flavour, so
# that one never throws the other's work away. Further arguments go to swift build.
set -euo pipefail
cd "$(dirname "$0")/.."

flavour=${1:-release}
if (($# > 0)); then shift; fi
case $flavour in
release) exec swift build -c release --scratch-path .build-release "$@" ;;
debug) exec swift build --scratch-path .build "$@" ;;
*) echo "error: build.sh release|debug" >&2; exit 64 ;;
esac
