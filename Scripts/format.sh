#!/usr/bin/env bash
# Formats all Swift sources in place.
set -euo pipefail
cd "$(dirname "$0")/.."

exec swift format -i -r -p Package.swift Sources Tests Benchmarks Fuzz
