#!/usr/bin/env bash
# Installs the Debian packages the build needs. Touches no network when nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(libsrtp2-dev libssl-dev libopus-dev)

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    echo "setup: installing ${missing[*]}"
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
fi

if ! command -v swift >/dev/null; then
    echo "error: no 'swift' on the PATH; install Swift 6.2 or newer from swift.org" >&2
    exit 1
fi
version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
if [ "$(printf '%s\n6.2\n' "$version" | sort -V | head -n 1)" != 6.2 ]; then
    echo "error: Swift 6.2 or newer is needed, this is ${version:-unknown}" >&2
    exit 1
fi
