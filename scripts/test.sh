#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests.   scripts/test.sh [release | asan | tsan] [ctest arguments…]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=release
case ${1:-} in release | asan | tsan) preset=$1; shift ;; esac

scripts/setup.sh
cmake --preset "$preset" --log-level=WARNING  # always: ninja does not notice a changed preset
cmake --build --preset "$preset"
ctest --preset "$preset" -j "$(nproc)" "$@"
