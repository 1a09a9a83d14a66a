#!/usr/bin/env bash
# Makes a Python environment with TensorFlow 2.15, TensorBoard and PyTorch 2.11 in the user's cache folder, and prints the
# path of its python. Safe to run again. Messages go to standard error.
set -euo pipefail
cd "$(dirname "$0")/.."
cache="${XDG_CACHE_HOME:-${HOME:?is not set}/.cache}/belfry"
environment="$cache/peers-tensorflow-2.15"
requirements=(tensorflow-cpu==2.15.1 "numpy<2" tensorboard "setuptools<81")
torch_requirements=(typing-extensions filelock fsspec sympy networkx jinja2)

# TensorFlow 2.15 has wheels for 3.9 to 3.11 only.
suitable_python() {
  local name
  for name in ${BELFRY_PYTHON:-python3.11 python3.10 python3.9 python3}; do
    if "$name" -c 'import sys, venv, pip; sys.exit(not (3, 9) <= sys.version_info < (3, 12))' 2>/dev/null; then
      echo "$name"
      return 0
    fi
  done
  echo "peers: TensorFlow 2.15 needs a Python 3.9, 3.10 or 3.11 with venv and pip, and none is on PATH." >&2
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

mkdir -p "$cache"
exec 9>"$cache/peers-lock" && flock 9
python=$(suitable_python)
if ! [ -x "$environment/bin/python" ]; then
  echo "peers: TensorFlow 2.15.1 for $("$python" --version) into $environment (0.5 GB to load)" >&2
  rm -rf "$environment.part"
  "$python" -m venv --without-pip "$environment.part"  # ensurepip is a package of its own on Debian
  install_into "$environment.part" "${requirements[@]}" "${torch_requirements[@]}"
  mv "$environment.part" "$environment"
fi
# The LibTorch at hand serves when its GPU half is complete: the Python half of the wheel does not load without it.
if ! imports_torch; then
  link="$(site_packages "$environment")/belfry_torch.pth"
  torch_folder >"$link"
  if ! imports_torch; then
    rm "$link"
    echo "peers: PyTorch 2.11.0 into $environment (2.5 GB to load)" >&2
    install_into "$environment" torch==2.11.0 "numpy<2"
  fi
fi
echo "$environment/bin/python"
