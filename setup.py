"""Extensions and compiler flags; everything else is in pyproject.toml.

KCORE_DEBUG=1 builds with bounds checks, line tracing and warnings as errors (`make debug`). The
generated C of the two builds is kept apart, so that neither takes the other's for its own.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("KCORE_DEBUG") == "1"
JOBS = os.cpu_count() or 1

DIRECTIVES: dict[str, object] = {
    "language_level": 3,
    "embedsignature": True,
    "boundscheck": DEBUG,
    "wraparound": DEBUG,
    "initializedcheck": DEBUG,
    "cdivision": not DEBUG,
    "linetrace": DEBUG,
    "warn.maybe_uninitialized": True,
    "freethreading_compatible": True,
}
COMPILE = ["-O1", "-g", "-Wall", "-Wextra", "-Werror"] if DEBUG else ["-O3"]
# Cython's own scaffolding trips these two; ours may not trip any other.
COMPILE += ["-Wno-unused-parameter", "-Wno-missing-field-initializers"]
MACROS = [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1")] if DEBUG else []

extensions = [
    Extension(
        str(path.with_suffix("")).replace(os.sep, "."),
        [str(path)],
        extra_compile_args=COMPILE,
        define_macros=MACROS,
    )
    for path in sorted(Path("kcore").rglob("*.pyx"))
]

setup(
    ext_modules=cythonize(
        extensions,
        build_dir="build/c-debug" if DEBUG else "build/c",
        compiler_directives=DIRECTIVES,
        nthreads=JOBS if len(extensions) > 1 else 0,
    ),
    options={"build_ext": {"parallel": JOBS}},
)
