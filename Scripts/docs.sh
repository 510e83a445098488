#!/usr/bin/env bash
# Builds the documentation of Transport and ICELite from the doc comments into out/docs; a warning fails.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p out/docs
swift package --scratch-path .build dump-symbol-graph --minimum-access-level public --skip-synthesized-members >/dev/null
graphs=$(find .build -type d -name symbolgraph -print -quit)
[[ -n $graphs ]] || { echo "error: no symbol graphs were written" >&2; exit 1; }
docc=$(command -v docc || echo "$(dirname "$(command -v swift)")/docc")
for module in Transport ICELite; do
    scratch=$(mktemp -d)
    find "$graphs" -name "$module*.symbols.json" -exec cp {} "$scratch" \;
    "$docc" convert --fallback-display-name "$module" --fallback-bundle-identifier "graine.$module" \
        --additional-symbol-graph-dir "$scratch" --output-dir "out/docs/$module.doccarchive" --warnings-as-errors
    rm -rf "$scratch"
done
echo "out/docs"
