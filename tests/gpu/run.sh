#!/usr/bin/env bash
# Builds and runs the GPU tests. Fails where no GPU is seen, so that a machine that should have one cannot pass by
# skipping; names the tests that want more GPUs than there are.   tests/gpu/run.sh [ctest arguments…]
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/setup.sh --cuda
scripts/locked.sh release cmake --preset release --log-level=WARNING -DBELFRY_TESTS=ON -DLibTorch_WITH_CUDA=ON
scripts/locked.sh release cmake --build --preset release --target gpu_test
log=$(mktemp)
trap 'rm -f "$log"' EXIT
ctest --preset release -L gpu "$@" | tee "$log"
if ! grep -q ' Passed ' "$log"; then
  echo "gpu: LibTorch saw no GPU: no test was run" >&2
  exit 1
fi
if grep -q '\*\*\*Skipped' "$log"; then
  echo "gpu: these want more GPUs than LibTorch sees here:"
  sed -n 's/^.*Test *#[0-9]*: \(.*[^.]\) *\.\.*\*\*\*Skipped.*/  \1/p' "$log"
fi
