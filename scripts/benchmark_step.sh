#!/usr/bin/env bash
# Builds benchmarks/benchmark_step.cpp and runs it: steps per second of Estimator against a hand-written LibTorch loop.
#   scripts/benchmark_step.sh [--scale 0.1] [--repetitions 3]     On a machine that does nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh >&2
scripts/locked.sh release cmake --preset release --log-level=WARNING -DBELFRY_BENCHMARKS=ON >&2
scripts/locked.sh release cmake --build --preset release --target benchmark_step >&2
exec env OMP_NUM_THREADS=1 build/release/benchmarks/benchmark_step "$@"
