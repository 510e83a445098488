#!/usr/bin/env bash
# Fuzzes. `fuzz.sh TARGET SECONDS` builds TARGET (a folder Fuzz/fuzz-*) into .build-fuzz, runs it
# from the committed corpus and writes Fuzz/Logs/TARGET.log. What it finds beyond the corpus stays in .build-fuzz/corpus.
# `fuzz.sh TARGET --minimise` then makes the smallest set of inputs with the same coverage the committed corpus.
# A crash fails, and leaves its input in .build-fuzz/crashes: mend the fault, and put the input into Fuzz/Corpus/TARGET.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    echo "usage: fuzz.sh TARGET SECONDS|--minimise, of the targets $(cd Fuzz && echo fuzz-*)" >&2
    exit 64
}
(($# == 2)) || usage
target=$1
[[ $target == fuzz-* && -d Fuzz/$target ]] || usage
[[ $2 == --minimise || $2 =~ ^[1-9][0-9]*$ ]] || usage

# Longest input, bytes: a script of a few hundred steps, a datagram as long as any.
max_length=1200
[[ $target != fuzz-sdp ]] || max_length=4000
# Words that no mutation would find.
dictionary=()
[[ ! -f Fuzz/Dictionaries/$target.dict ]] || dictionary=("-dict=Fuzz/Dictionaries/$target.dict")
max_files=200
# Seconds of one input that count as hanging. Of the wall clock: a busy machine alone takes seconds.
slow=60
seeds=Fuzz/Corpus/$target
found=.build-fuzz/corpus/$target
crashes=.build-fuzz/crashes
mkdir -p "$seeds" "$found" "$crashes" Fuzz/Logs

resources=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath" *: *"\(.*\)".*/\1/p')
runtime=$resources/clang/lib/linux/libclang_rt.fuzzer_no_main-$(uname -m).a
[[ -f $runtime ]] || { echo "error: this toolchain has no libFuzzer" >&2; exit 1; }
GRAINE_FUZZ=1 swift build -c release --scratch-path .build-fuzz --product "$target" \
    -Xlinker "$runtime" -Xlinker -lstdc++ >&2
# A copy: a later build must not change what runs.
binary=.build-fuzz/run-$target
cp ".build-fuzz/release/$target" "$binary"

# A trap must reach libFuzzer, not Swift's own backtracer.
export SWIFT_BACKTRACE=enable=no
if [[ $2 == --minimise ]]; then
    smallest=$(mktemp -d)
    trap 'rm -rf "$smallest"' EXIT
    "$binary" -set_cover_merge=1 -max_len=$max_length "$smallest" "$seeds" "$found" >/dev/null 2>&1
    count=$(find "$smallest" -type f | wc -l)
    ((count > 0)) || { echo "error: no input is left" >&2; exit 1; }
    # They are written in the order of what they cover: the last add least.
    find "$smallest" -type f -printf '%T@ %p\n' | sort -n | tail -n "+$((max_files + 1))" | cut -d' ' -f2- | xargs -r rm
    # Inputs with a name of their own are those of mended faults and published vectors: they stay.
    find "$seeds" -type f -regextype posix-extended -regex '.*/[0-9a-f]{40}' -delete
    cp "$smallest"/* "$seeds"/
    echo "$seeds: $(find "$seeds" -type f | wc -l) files"
    exit
fi

log=Fuzz/Logs/$target.log
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT
status=0
"$binary" "$found" "$seeds" "${dictionary[@]}" -max_total_time="$2" -max_len=$max_length -timeout=$slow -print_final_stats=1 \
    -artifact_prefix="$crashes/$target-" >"$raw" 2>&1 || status=$?
{
    echo "$target: $2 s asked for, $(swift --version 2>/dev/null | grep -o 'Swift version [0-9.]*')"
    grep -E 'INITED|pulse|^Done|^stat::|Fatal error|ERROR|SUMMARY' "$raw" | sed 's/ *$//' || true
    grep -E '^#[0-9]' "$raw" | tail -n 1
    echo "files found beyond the corpus: $(find "$found" -type f | wc -l)"
} >"$log"
cat "$log"
((status == 0)) || { echo "error: a finding, see $crashes" >&2; exit 1; }
