"""Extensions and compiler flags; everything else is in pyproject.toml.

KCORE_DEBUG=1 builds with bounds checks, line tracing and warnings as errors (`make debug`). The
generated C of the two builds is kept apart, so that neither takes the other's for its own.
KCORE_SANITIZE=1 builds with gcc's address and undefined behaviour sanitizers (`make sanitize`).
KCORE_COVERAGE=1 has every edge of the machine code tell the fuzzer of it (`make fuzz`).
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
    "embedsignature.format": "clinic",
    "binding": False,  # functions of Cython's own do not look at what `self` is, and crash
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
LINK = []
if os.environ.get("KCORE_SANITIZE") == "1":
    # A first finding ends the process. -O1: the stack in the report is the one that was.
    LINK = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    COMPILE += ["-O1", "-g", "-fno-omit-frame-pointer", *LINK]
if os.environ.get("KCORE_COVERAGE") == "1":
    COMPILE += ["-g", "-fsanitize-coverage=trace-pc,trace-cmp"]
MACROS = [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1")] if DEBUG else []


def name_of(path: Path) -> str:
    """A module's: what lies beside kcore/ is mapped into it (see pyproject.toml)."""
    parts = path.with_suffix("").parts
    return ".".join(parts if parts[0] == "kcore" else ("kcore", *parts))


SOURCES = sorted([*Path("kcore").rglob("*.pyx"), *Path("clients").rglob("*.pyx")])
C_FOLDER = Path("build/c-debug" if DEBUG else "build/c")
# Other directives may have made the C that is there; Cython looks at the age of sources only.
MADE = [c for c in (C_FOLDER / path.with_suffix(".c") for path in SOURCES) if c.exists()]
STALE = any(c.stat().st_mtime < Path(__file__).stat().st_mtime for c in MADE)

extensions = [
    Extension(
        name_of(path),
        [str(path)],
        extra_compile_args=COMPILE,
        extra_link_args=LINK,
        define_macros=MACROS,
    )
    for path in SOURCES
]

setup(
    ext_modules=cythonize(
        extensions,
        build_dir=str(C_FOLDER),
        force=STALE,
        compiler_directives=DIRECTIVES,
        nthreads=JOBS if len(extensions) > 1 else 0,
    ),
    options={"build_ext": {"parallel": JOBS}},
)
