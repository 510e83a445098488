#!/usr/bin/env bash
# Calls between this package and others' stacks: installs the peers where they are missing (Debian's Chromium, Firefox and
# GStreamer, PyPI's aiortc in .venv-interop), builds the probe, runs Tests/Interop. `interop.sh install` only installs.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
'' | install) ;;
*) echo "error: interop.sh [install]" >&2; exit 64 ;;
esac

Scripts/setup.sh interop
environment=.venv-interop
wanted=Tests/Interop/requirements.txt
# Its own copy of the list says what is in it.
if ! cmp -s "$wanted" "$environment/requirements.txt"; then
    echo "interop: installing $(tr '\n' ' ' <"$wanted")into $environment" >&2
    # GStreamer's bindings are the system's.
    /usr/bin/python3 -m venv --clear --system-site-packages "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted"
    cp "$wanted" "$environment/requirements.txt"
fi
if [[ ${1:-} == install ]]; then exit; fi

"$environment/bin/python" -B -m unittest discover -q -s Tests/Interop
Scripts/build.sh release --product graine-transport-probe
Tests/Interop/interop.sh
