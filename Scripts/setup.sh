#!/usr/bin/env bash
# Brings a bare Debian 12 to where the package builds: installs what Swift itself and the C libraries need and is missing.
# `setup.sh network-tests` also installs what Tests/Network wants, `setup.sh interop` what Tests/Interop wants of Debian. Says
# what it does; when nothing is missing it touches neither the network nor the system.
set -euo pipefail

required_swift_major=6
required_swift_minor=2
# What the toolchain loads, what its linker and clang take from the system, then the package's own C libraries.
packages=(
    libcurl4 libncurses6 libsqlite3-0 libxml2 libstdc++6 libuuid1 zlib1g ca-certificates
    binutils gcc libc6-dev git make pkg-config
    libsrtp2-dev libssl-dev libopus-dev
)
namespaces=(iproute2 nftables openssl python3 util-linux)
for group; do
    case $group in
    network-tests) packages+=("${namespaces[@]}" conntrack coturn) ;;
    interop)
        packages+=("${namespaces[@]}" chromium firefox-esr gir1.2-gst-plugins-bad-1.0 gir1.2-nice-0.1 gstreamer1.0-nice
            gstreamer1.0-plugins-bad gstreamer1.0-plugins-base gstreamer1.0-plugins-good pulseaudio
            python3-gst-1.0 python3-venv)
        ;;
    *) echo "error: setup.sh [network-tests] [interop]" >&2; exit 64 ;;
    esac
done

if ! command -v swift >/dev/null; then
    echo "error: no swift in PATH; Swift ${required_swift_major}.${required_swift_minor} or newer is needed (https://www.swift.org/install)" >&2
    exit 1
fi

# Installs `missing`. Before Swift is asked for its version: it does not start without its libraries.
install_missing() {
    local as_root=() log
    if ((EUID != 0)); then
        command -v sudo >/dev/null || { echo "error: missing ${missing[*]}, and neither root nor sudo is there to install them" >&2; exit 1; }
        as_root=(sudo)
    fi
    echo "setup: installing ${missing[*]}" >&2
    log=$(mktemp)
    # The package would start a TURN server for everybody; the tests start their own, where nobody else is.
    if [[ " ${missing[*]} " == *" coturn "* && ! -e /etc/systemd/system/coturn.service ]]; then
        "${as_root[@]}" mkdir -p /etc/systemd/system
        "${as_root[@]}" ln -s /dev/null /etc/systemd/system/coturn.service
    fi
    if ! { "${as_root[@]}" apt-get update -q &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo "error: installing ${missing[*]} failed" >&2
        exit 1
    fi
    rm -f "$log"
}

if command -v dpkg-query >/dev/null; then
    # Every installed package and what it stands in for: newer systems have pkgconf for pkg-config.
    installed=$(dpkg-query -W -f='${db:Status-Status}, ${Package}, ${Provides}\n' |
        sed -n 's/^installed, //p' | tr ',' '\n' | sed 's/^ *//; s/ .*//')
    missing=()
    for package in "${packages[@]}"; do
        grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
    done
    ((${#missing[@]} == 0)) || install_missing
else
    echo "setup: not Debian; these or their like must be there already: ${packages[*]}" >&2
fi

# "Swift version 6.3.1 (…)": the first number pair decides.
version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | head -n 1 || true)
major=${version%%.*}
minor=${version#*.}
if [[ -z $version ]] || ((major < required_swift_major || (major == required_swift_major && minor < required_swift_minor))); then
    echo "error: Swift ${version:-of unknown version} does not do; ${required_swift_major}.${required_swift_minor} or newer is needed" >&2
    exit 1
fi
