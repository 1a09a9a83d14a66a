#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests.
#   scripts/test.sh [release | asan | tsan] [--with-peers] [ctest arguments…]
# --with-peers also compares files with TensorFlow 2.15, TensorBoard, PyTorch and ONNX Runtime (a Python 3.9, 3.10 or 3.11
# is needed, and 3 GB go into the cache folder once).   Only those: scripts/test.sh --with-peers -L peers
set -euo pipefail
cd "$(dirname "$0")/.."
preset=release
peers=()
while [ $# -gt 0 ]; do
  case $1 in
    release | asan | tsan) preset=$1 ;;
    --with-peers) peers=(with) ;;
    *) break ;;
  esac
  shift
done

scripts/setup.sh
options=(-DBELFRY_TESTS=ON -DBELFRY_BENCHMARKS=ON -DBELFRY_PEERS=OFF)
if [ ${#peers[@]} -gt 0 ]; then
  python=$(scripts/peers.sh tensorflow)
  onnx_python=$(scripts/peers.sh onnx)
  options=(-DBELFRY_PEERS=ON -DBELFRY_PEER_PYTHON="$python" -DBELFRY_PEER_ONNX_PYTHON="$onnx_python")
fi
scripts/locked.sh "$preset" cmake --preset "$preset" --log-level=WARNING "${options[@]}"  # always: ninja does not notice a changed preset
scripts/locked.sh "$preset" cmake --build --preset "$preset"
ctest --preset "$preset" -j "$(nproc)" "$@"
