#!/usr/bin/env bash
# Makes the speech recording that the self-test sends: 16-bit PCM WAV, 48 kHz, mono, about 8 s.
#
# The recording is committed, so nobody needs this script to build or test. Run it only to make another one: it needs
# espeak-ng (the voice, 22.05 kHz) and sox (resampling to 48 kHz, level, fades). No dither and a fixed text: the
# same versions of both give the same file. The committed one was made with eSpeak NG 1.51 and SoX 14.4.2.
set -euo pipefail
cd "$(dirname "$0")/.."

out=Sources/graine-transport-probe/Resources/speech.wav
text="Thanks for picking up. Is now a good time? The birch canoe slid on the smooth planks. \
Glue the sheet to the dark blue background. Four hours of steady work faced us."

for tool in espeak-ng sox; do
    command -v "$tool" >/dev/null || { echo "error: $tool is missing (apt-get install espeak-ng sox)" >&2; exit 1; }
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
espeak-ng -v en-gb -s 175 -g 2 -w "$scratch/voice.wav" "$text"
# -v (very high quality) band-limited resampling; peak -3 dBFS; 10 ms fades so that the file begins and ends in silence.
sox -R -D "$scratch/voice.wav" -b 16 -c 1 "$scratch/speech.wav" gain -n -3 rate -v 48000 trim 0 8.4 fade t 0.01 -0 0.01
mv "$scratch/speech.wav" "$out"
echo "$out: $(sox --i -D "$out") s"
