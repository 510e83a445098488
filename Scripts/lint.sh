#!/usr/bin/env bash
# Formatting, and the rules of the house that a grep can hold.
set -euo pipefail
cd "$(dirname "$0")/.."

swift format lint --strict --recursive Package.swift Sources Tests Benchmarks

failed=0
# forbid MESSAGE PATTERN PATH... : no line of the Swift files below PATH may match PATTERN.
forbid() {
    local message=$1 pattern=$2
    shift 2
    if grep -rnE --include='*.swift' "$pattern" "$@"; then
        echo "error: $message" >&2
        failed=1
    fi
}

system='^ *((public|package|internal|fileprivate|private|@preconcurrency) +)*import +(Glibc|CLinux|Foundation)$'
forbid "ICELite does no I/O and uses no Foundation" "$system" Sources/ICELite
for room in Sources/Transport/*/; do
    case $room in
        */Runtime/ | */Endpoint/) ;;
        *) forbid "only Runtime and the endpoint's driver import Glibc or CLinux" "$system" "$room" ;;
    esac
done
forbid "an arrow goes up: ICELite imports Transport" 'import +Transport' Sources/ICELite
forbid "an arrow goes up: Transport imports TransportTestKit" 'import +TransportTestKit' Sources/Transport
forbid "'try!' and 'as!' trap" '\btry!|\bas!' Sources
exit "$failed"
