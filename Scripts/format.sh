#!/usr/bin/env bash
# Formats every Swift file in place.
set -euo pipefail
cd "$(dirname "$0")/.."
exec swift format --in-place --recursive Package.swift Sources Tests Benchmarks
