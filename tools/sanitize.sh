#!/usr/bin/env bash
# Build with gcc's address and undefined behaviour sanitizers into .cache/sanitize, and run the
# suites that read what a peer sends on that build. The build in place is never touched. Leaks are
# not looked for: the interpreter itself ends with memory that it has not given back.
set -euo pipefail
cd "$(dirname "$0")/.."

out=.cache/sanitize
mkdir -p "$out/lib"
find "$out/lib" -name '*.py' -delete  # modules that were removed or renamed meanwhile
KCORE_SANITIZE=1 python setup.py --quiet build --build-lib "$out/lib" --build-temp "$out/temp"
echo "built with sanitizers in $out/lib"
suites=(tests/records tests/wire tests/fuzz)
(($#)) && suites=("$@")
# The interpreter is not built with them: their library has to be loaded before it, and its own
# allocator would hide what lies behind the end of an object.
LD_PRELOAD=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libstdc++.so)
export LD_PRELOAD PYTHONMALLOC=malloc PYTHONPATH="$PWD/$out/lib"
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
# -P: not the build in place.
python -P -c 'import sys, kcore.records.reader as one; sys.exit(sys.argv[1] not in one.__file__)' \
    "$out" || { echo "the tests would not run on the build with sanitizers" >&2; exit 1; }
exec python -P -m pytest -p no:faulthandler -m "not slow and not kafka" "${suites[@]}"
