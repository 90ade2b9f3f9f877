#!/usr/bin/env bash
# Build the extensions into .cache/fuzz so that they tell which edges of theirs an input goes
# through, and fuzz the targets (all, or those named) on that build: tools/fuzz.py.
set -euo pipefail
cd "$(dirname "$0")/.."

out=.cache/fuzz
mkdir -p "$out/lib"
find "$out/lib" -name '*.py' -delete  # modules that were removed or renamed meanwhile
KCORE_COVERAGE=1 python setup.py --quiet build --build-lib "$out/lib" --build-temp "$out/temp"
gcc -O2 -shared -fPIC -o "$out/coverage.so" tools/coverage.c
PYTHONPATH="$PWD/$out/lib" exec python -P tools/fuzz.py --coverage "$out/coverage.so" "$@"
