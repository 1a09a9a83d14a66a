#!/usr/bin/env bash
# From a clone to a trained, evaluated and exported classifier of handwritten digits. Safe to run again: then it goes on
# from the model that it finds.   scripts/quickstart.sh [--steps 3000 --towers 1 --model_dir … --export_dir … --data …]
set -euo pipefail
cd "$(dirname "$0")/.."
example=020_dnn_classifier
[ -f examples/$example.cpp ] || example=010_custom_model_fn
build=build/release

scripts/setup.sh
# Without tests, so that a machine without Catch2 2.13 gets as far; scripts/test.sh switches them on.
[ -f $build/build.ninja ] || scripts/locked.sh release cmake --preset release --log-level=WARNING -DBELFRY_TESTS=OFF -DBELFRY_BENCHMARKS=OFF
scripts/locked.sh release cmake --build --preset release --target $example

arguments=("$@")
by_default() {  # OPTION VALUE: unless it was given
  [[ " ${arguments[*]} " == *" $1"[\ =]* ]] || arguments+=("$1" "$2")
}
if [ $example = 020_dnn_classifier ]; then
  by_default --data examples/data/digits.csv
  by_default --model_dir build/quickstart/model
  by_default --export_dir build/quickstart/export
  mkdir -p build/quickstart
elif [ $# = 0 ]; then
  arguments=(examples/data/digits.csv)
fi
echo "quickstart: $build/examples/$example ${arguments[*]}"
exec $build/examples/$example "${arguments[@]}"
