#!/usr/bin/env bash
# Makes a Python environment in the user's cache folder and prints the path of its python. Safe to run again. Messages go
# to standard error.
#   scripts/peers.sh [tensorflow | onnx]
# tensorflow: TensorFlow 2.15, TensorBoard and PyTorch 2.11. onnx: onnx and ONNX Runtime, whose numpy and protobuf are too
# new for TensorFlow 2.15.
set -euo pipefail
cd "$(dirname "$0")/.."
cache="${XDG_CACHE_HOME:-${HOME:?is not set}/.cache}/belfry"
peer=${1:-tensorflow}
torch_requirements=(typing-extensions filelock fsspec sympy networkx jinja2)
case $peer in
  tensorflow)
    title="TensorFlow 2.15.1"
    environment="$cache/peers-tensorflow-2.15"
    requirements=(tensorflow-cpu==2.15.1 "numpy<2" tensorboard "setuptools<81" "${torch_requirements[@]}")
    size="0.5 GB"
    versions="(3, 9) <= sys.version_info < (3, 12)"  # TensorFlow 2.15 has wheels for 3.9 to 3.11 only
    wanted="Python 3.9, 3.10 or 3.11"
    ;;
  onnx)
    title="onnx and ONNX Runtime"
    environment="$cache/peers-onnx"
    requirements=("onnx>=1.14" "onnxruntime>=1.15")
    size="50 MB"
    versions="(3, 9) <= sys.version_info"
    wanted="Python 3.9 or newer"
    ;;
  *)
    echo "usage: scripts/peers.sh [tensorflow | onnx]" >&2
    exit 2
    ;;
esac

suitable_python() {
  local name
  for name in ${BELFRY_PYTHON:-python3.11 python3.10 python3.9 python3}; do
    if "$name" -c "import sys, venv, pip; sys.exit(not $versions)" 2>/dev/null; then
      echo "$name"
      return 0
    fi
  done
  echo "peers: $title needs a $wanted with venv and pip, and none is on PATH." >&2
  echo "peers: install one and name it in BELFRY_PYTHON; all other tests run without --with-peers." >&2
  return 1
}

site_packages() {
  "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])'
}

install_into() {  # ENVIRONMENT requirements…
  local site
  site=$(site_packages "$1")
  shift
  "$python" -m pip install -q --no-cache-dir --disable-pip-version-check --no-warn-conflicts --target "$site" "$@" >&2
}

imports_torch() {
  "$environment/bin/python" -c 'import torch' 2>/dev/null
}

# The folder that holds the LibTorch at hand.
torch_folder() {
  cmake -P cmake/ProbeLibTorch.cmake 2>&1 | sed -n 's/^LibTorch [0-9.]* in \(.*\)\/torch, GPU half: .*/\1/p'
}

# The LibTorch at hand serves when its GPU half is complete: the Python half of the wheel does not load without it.
add_torch() {
  local link
  if imports_torch; then return; fi
  link="$(site_packages "$environment")/belfry_torch.pth"
  torch_folder >"$link"
  if imports_torch; then return; fi
  rm "$link"
  echo "peers: PyTorch 2.11.0 into $environment (2.5 GB to load)" >&2
  install_into "$environment" torch==2.11.0 "numpy<2"
}

mkdir -p "$cache"
exec 9>"$cache/peers-lock" && flock 9
python=$(suitable_python)
if ! [ -x "$environment/bin/python" ]; then
  echo "peers: $title for $("$python" --version) into $environment ($size to load)" >&2
  rm -rf "$environment.part"
  "$python" -m venv --without-pip "$environment.part"  # ensurepip is a package of its own on Debian
  install_into "$environment.part" "${requirements[@]}"
  mv "$environment.part" "$environment"
fi
if [ "$peer" = tensorflow ]; then add_torch; fi
echo "$environment/bin/python"
