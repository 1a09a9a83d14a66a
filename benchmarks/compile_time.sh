#!/usr/bin/env bash
# Processor time to compile a file that includes belfry.h against one that includes torch/torch.h, and against one that
# includes both. No precompiled header, no ccache; the median of some runs.   benchmarks/compile_time.sh [runs]
# The last line is `ratio X`: belfry.h / torch/torch.h. (A file that includes both is what a user with modules has.)
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-3}
root=$(cmake -P cmake/ProbeLibTorch.cmake 2>&1 | sed -n 's/^LibTorch [0-9.]* in \(.*\), GPU half: .*/\1/p')
[ -n "$root" ] || { echo "no LibTorch: run scripts/setup.sh" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

echo '#include <torch/torch.h>' >"$scratch/torch.cpp"
echo '#include <belfry.h>' >"$scratch/belfry.cpp"
printf '#include <belfry.h>\n#include <torch/torch.h>\n' >"$scratch/both.cpp"

seconds() {  # of user and system time
  local TIMEFORMAT='%U %S'
  { time "${CXX:-c++}" -std=c++20 -O2 -fPIC -I. -idirafter "$root/include" -idirafter "$root/include/torch/csrc/api/include" \
    -c "$1" -o "$scratch/out.o"; } 2>&1 | awk '{print $1 + $2}'
}

for ((run = 0; run < runs; ++run)); do  # interleaved, so that a busy minute hits all
  for file in torch belfry both; do
    seconds "$scratch/$file.cpp" >>"$scratch/$file.times"
  done
done
median() { sort -n "$scratch/$1.times" | awk '{t[NR] = $1} END {print (NR % 2) ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2}'; }
torch=$(median torch) belfry=$(median belfry) both=$(median both)
awk -v t="$torch" -v b="$belfry" -v a="$both" 'BEGIN {
  printf "torch/torch.h              %6.1f s\nbelfry.h                   %6.1f s  (%.2f)\nbelfry.h and torch/torch.h %6.1f s  (%.2f)\n", t, b, b / t, a, a / t
  printf "ratio %.3f\n", b / t }'
