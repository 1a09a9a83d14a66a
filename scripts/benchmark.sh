#!/usr/bin/env bash
# Builds one of the benchmarks and runs it, on a machine that does nothing else:
#   scripts/benchmark.sh step [--scale 0.1] [--repetitions 3]    steps per second: a hand-written loop, Estimator, towers
#   scripts/benchmark.sh phases [--svg FILE]                     where the time of a step goes
#   scripts/benchmark.sh collectives                             ms of all_reduce against what memcpy would take
#   scripts/benchmark.sh export [--megabytes 100]                us of Predictor against forward, s of an export
#   scripts/benchmark.sh aggregate                               GB/s of the towers' reduction against memcpy
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-}
case $name in
  step | phases | aggregate | collectives | export) shift ;;
  *)
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
scripts/setup.sh >&2
scripts/locked.sh release cmake --preset release --log-level=WARNING -DBELFRY_BENCHMARKS=ON >&2
scripts/locked.sh release cmake --build --preset release --target "benchmark_$name" >&2
exec env OMP_NUM_THREADS=1 "build/release/benchmarks/benchmark_$name" "$@"
