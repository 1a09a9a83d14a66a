#!/usr/bin/env bash
# Makes this machine ready to build Belfry: Debian packages that are missing, and LibTorch where none is found.
# Safe to run again: a second run takes a fraction of a second.   scripts/setup.sh [--cuda | --cpu]
set -euo pipefail

torch_version=2.11.0
packages=(g++ cmake ninja-build ccache python3-pip ca-certificates
  protobuf-compiler libprotobuf-dev libleveldb-dev libisal-dev libfarmhash-dev libzip-dev nlohmann-json3-dev
  libboost-program-options-dev libbenchmark-dev catch2)
gpu=auto
for argument in "$@"; do
  case $argument in
    --cuda) gpu=yes ;;
    --cpu) gpu=no ;;
    *) echo "usage: scripts/setup.sh [--cuda | --cpu]" >&2; exit 2 ;;
  esac
done

cache="${XDG_CACHE_HOME:-${HOME:?is not set}/.cache}/belfry"

# Two setups at once: one works, the other waits and finds it done. What a killed one left running (apt-get, pip) holds the
# lock, too, since it has inherited it.
lock() {
  [ -z "${locked:-}" ] || return 0
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock -n 9 || { echo "setup: another setup, or what a killed one left running, is at work; waiting for its end" >&2; flock 9; }
  locked=yes
}

missing_packages() {
  export LC_ALL=C
  dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null | awk '$2 == "installed" {print $1}' |
    sort -u | comm -13 - <(printf '%s\n' "${packages[@]}" | sort -u)
}

install_packages() {
  local missing as_root=() quiet=(env DEBIAN_FRONTEND=noninteractive)
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "setup: not a Debian or Ubuntu. Nothing is installed; these have to be there (Debian's names): ${packages[*]}" >&2
    return 0
  fi
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  lock
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
      echo "setup: these packages are missing, and neither root nor sudo is at hand. Ask an administrator for:" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  # What a killed installation left: dpkg's journal, which apt-get refuses to go past, and packages without their needs.
  [ -z "$(ls -A /var/lib/dpkg/updates 2>/dev/null)" ] || "${as_root[@]}" "${quiet[@]}" dpkg --configure -a || true
  "${as_root[@]}" "${quiet[@]}" apt-get install -y -qq --fix-broken --no-install-recommends -o DPkg::Lock::Timeout=600 "${missing[@]}"
}

# Ubuntu 24.04 and Debian 13 have Catch2 3 only. All else builds there: quickstart.sh, or cmake with -DBELFRY_TESTS=OFF.
check_catch() {
  local version
  version=$(dpkg-query -W -f '${Version}' catch2 2>/dev/null) || return 0
  case $version in
    2.*) ;;
    *) echo "setup: Catch2 here is $version; the tests need 2.13 (Debian 12 and Ubuntu 22.04 have it), and CMake will refuse to build them" >&2 ;;
  esac
}

has_gpu_driver() { [ -e /proc/driver/nvidia/version ] || [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; }

# CMake's own search decides whether there is a LibTorch already, so that both can never disagree.
libtorch_found() {
  local out
  out=$(cmake -DLibTorch_WITH_CUDA="$1" -P cmake/ProbeLibTorch.cmake 2>&1) && echo "setup: $out"
}

install_libtorch() {
  local final="$cache/libtorch-$torch_version" requirements=(torch==$torch_version nvidia-cuda-crt==13.0.88)
  lock
  libtorch_found "$1" && return 0
  rm -rf "$cache"/part.*  # of killed ones
  part=$(mktemp -d "$cache/part.XXXXXX")
  trap 'rm -rf "$part"' EXIT  # part is not local: the trap runs after this function
  mkdir "$part/tmp"
  if [ "$1" = OFF ]; then
    requirements=(--no-deps torch==$torch_version nvidia-cuda-cupti==13.0.85 nvidia-cuda-runtime==13.0.96)
    echo "setup: LibTorch $torch_version for the CPU (0.5 GB to load, 1.2 GB on disk) into $final"
  else
    echo "setup: LibTorch $torch_version with CUDA (2.5 GB to load, 4.5 GB on disk) into $final"
  fi
  # --target needs no venv and is allowed where Debian marks the system Python as its own. TMPDIR: pip unpacks there first.
  TMPDIR="$part/tmp" PIP_ROOT_USER_ACTION=ignore /usr/bin/python3 -m pip install -q --no-cache-dir --no-compile --no-warn-conflicts \
    --disable-pip-version-check --target "$part/libtorch" "${requirements[@]}"
  rm -rf "$final"
  mv "$part/libtorch" "$final"
  libtorch_found "$1" || { echo "setup: LibTorch was installed into $final, but CMake does not find it" >&2; exit 1; }
}

cd "$(dirname "$0")/.."
install_packages
check_catch
[ $gpu = auto ] && { has_gpu_driver && gpu=yes || gpu=no; }
[ $gpu = yes ] && with_cuda=ON || with_cuda=OFF
libtorch_found $with_cuda || install_libtorch $with_cuda
