#!/usr/bin/env bash
# Steps per second of Estimator against a hand-written LibTorch loop; the last line is `ratio X`, the first of the two.
#   scripts/benchmark_step.sh [--scale 0.1] [--repetitions 3]     On a machine that does nothing else.
exec "$(dirname "$0")/benchmark.sh" step "$@"
