#!/usr/bin/env bash
# check_umbrella.sh SOURCE LIST: fails unless belfry.h includes exactly the public headers in LIST, each once, and every
# header outside an internal/ folder is in LIST.
set -euo pipefail
export LC_ALL=C
cd "$1"
public=$(grep -vx 'belfry\.h' "$2" | sort)
included=$(sed -nE 's/^#include "([^"]*)"$/\1/p' belfry.h | sort)
present=$(find core data checkpoint distribute optimizers export estimator towers -name '*.h' -not -path '*/internal/*' | sort)

status=0
if ! difference=$(diff <(echo "$public") <(echo "$included")); then
  echo "belfry.h differs from the public headers (< is missing in belfry.h, > should not be there, or comes twice):"
  echo "$difference"
  status=1
fi
if ! difference=$(diff <(echo "$public") <(echo "$present")); then
  echo "headers in the folders differ from those that are installed (> is in no HEADERS of a CMakeLists.txt):"
  echo "$difference"
  status=1
fi
[ $status = 0 ] && echo "belfry.h includes all $(echo "$public" | wc -l) public headers"
exit $status
