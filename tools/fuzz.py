"""Fuzz one target, or all in turn, with atheris: `make fuzz`.

    python tools/fuzz.py [TARGET ...] [--seconds 60] [--corpus FOLDER]

Targets are those of tests/fuzz/fuzz_targets.py; "any" has the first byte choose one. What was found
interesting is kept in the corpus, a folder a target, and begun with the next time; an input that
fails is written beside it. With `--coverage FILE` (the library made of coverage.c) extensions that
were built with KCORE_COVERAGE=1 tell what is new; without, libFuzzer mutates blindly.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / ".cache" / "fuzz" / "corpus"
INPUT_BYTES = 4096


def use_coverage(library: Path) -> None:
    """Connect the extensions' edges with libFuzzer; before any of them is imported."""
    edges = ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    core = importlib.import_module("atheris.core_with_libfuzzer")
    fuzzer = ctypes.CDLL(core.__file__, ctypes.RTLD_GLOBAL)  # it also takes what is compared
    edges.kcore_tell(
        fuzzer["__sanitizer_cov_8bit_counters_init"], fuzzer["__sanitizer_cov_pcs_init"]
    )


def load_targets(coverage: Path | None) -> Any:
    """The module of the targets, on top of whichever build is found first."""
    if coverage is not None:
        use_coverage(coverage)
    sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
    return importlib.import_module("fuzz_targets")


def fuzz(name: str, seconds: int, corpus: Path, coverage: Path | None) -> None:
    """Run one target in this process, which libFuzzer ends."""
    them = load_targets(coverage)
    atheris = importlib.import_module("atheris")
    target = them.ANY if name == "any" else them.TARGETS[name]
    folder = corpus / name
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (folder / f"seed-{number}").write_bytes(seed)
    arguments = [
        *("fuzz", str(folder), f"-artifact_prefix={corpus / name}-", f"-max_total_time={seconds}"),
        *("-timeout=10", "-rss_limit_mb=2048", f"-max_len={INPUT_BYTES}", "-print_final_stats=1"),
    ]
    atheris.Setup(arguments, target.run, internal_libfuzzer=True)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=60, help="each target")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--coverage", type=Path)
    parser.add_argument("--here", action="store_true", help="one target, in this process")
    given = parser.parse_args()
    if given.here:
        fuzz(given.targets[0], given.seconds, given.corpus, given.coverage)
        return 0
    names = given.targets or list(load_targets(given.coverage).TARGETS)
    failed = []
    for name in names:
        print(f"--- {name}", flush=True)
        options = ["--here", "--seconds", str(given.seconds), "--corpus", str(given.corpus)]
        if given.coverage:
            options += ["--coverage", str(given.coverage)]
        command = [sys.executable, "-P", __file__, name, *options]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else f"{len(names)} targets, nothing found")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
