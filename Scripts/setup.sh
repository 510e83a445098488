#!/usr/bin/env bash
# Brings a fresh Debian 12 to where the package builds: checks Swift, installs the C libraries' headers that are missing.
# Says what it does. When nothing is missing it touches neither the network nor the system.
set -euo pipefail

required_swift_major=6
required_swift_minor=2
packages=(libsrtp2-dev libssl-dev libopus-dev pkg-config make)

if ! command -v swift >/dev/null; then
    echo "error: no swift in PATH; Swift ${required_swift_major}.${required_swift_minor} or newer is needed (https://www.swift.org/install)" >&2
    exit 1
fi
# "Swift version 6.3.1 (…)": the first number pair decides.
version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | head -n 1)
major=${version%%.*}
minor=${version#*.}
if [[ -z $version ]] || ((major < required_swift_major || (major == required_swift_major && minor < required_swift_minor))); then
    echo "error: Swift ${version:-of unknown version} is too old; ${required_swift_major}.${required_swift_minor} or newer is needed" >&2
    exit 1
fi

if ! command -v dpkg-query >/dev/null; then
    echo "setup: not Debian; libsrtp2, OpenSSL 3 and Opus with their headers must be there already" >&2
    exit 0
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [[ $status == installed ]] || missing+=("$package")
done
# pkgconf is pkg-config under another name on newer systems.
if [[ " ${missing[*]:-} " == *" pkg-config "* ]] && command -v pkg-config >/dev/null; then
    kept=()
    for package in "${missing[@]}"; do [[ $package == pkg-config ]] || kept+=("$package"); done
    missing=(${kept[@]+"${kept[@]}"})
fi
if ((${#missing[@]} == 0)); then
    exit 0
fi

as_root=()
if ((EUID != 0)); then
    command -v sudo >/dev/null || { echo "error: missing ${missing[*]}, and neither root nor sudo is there to install them" >&2; exit 1; }
    as_root=(sudo)
fi
echo "setup: installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { ${as_root[@]+"${as_root[@]}"} apt-get update -q && ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "error: installing ${missing[*]} failed" >&2
    exit 1
fi
