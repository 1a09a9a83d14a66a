#!/usr/bin/env bash
# Builds and runs the GPU tests. Fails where no GPU is seen, so that a machine that should have one cannot pass by
# skipping.   tests/gpu/run.sh [ctest arguments…]
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/setup.sh --cuda
scripts/locked.sh release cmake --preset release --log-level=WARNING -DBELFRY_TESTS=ON -DLibTorch_WITH_CUDA=ON
scripts/locked.sh release cmake --build --preset release --target gpu_test
log=$(mktemp)
trap 'rm -f "$log"' EXIT
ctest --preset release -L gpu "$@" | tee "$log"
if grep -q Skipped "$log"; then
  echo "gpu: LibTorch saw no GPU (or too few): tests were skipped" >&2
  exit 1
fi
