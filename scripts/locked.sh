#!/usr/bin/env bash
# Runs a command that writes into build/PRESET while no other of these scripts does.   scripts/locked.sh PRESET COMMAND…
# What a killed script left running holds the lock, too, since it has inherited it: two builds would spoil each other's files.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build
exec 8>"build/$1.lock"
flock -n 8 || { echo "build/$1: another build, or what a killed one left running, is at work; waiting for its end" >&2; flock 8; }
shift
exec "$@"
