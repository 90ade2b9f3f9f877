"""Cython modules of the benches, compiled at first use (and after a change) into `.cache/bench`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / ".cache" / "bench"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def load(name: str) -> ModuleType:
    """The module of `bench/<name>.pyx`."""
    source = HERE / f"{name}.pyx"
    binary = CACHE / f"{name}{SUFFIX}"
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        _build(name, source)
    spec = importlib.util.spec_from_file_location(name, binary)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _build(name: str, source: Path) -> None:
    # In a process of its own: what is measured should not carry the compiler's memory. And in a
    # folder of its own: another process may be at the same.
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        copy = Path(folder) / source.name
        copy.write_bytes(source.read_bytes())
        command = [
            sys.executable,
            "-m",
            "Cython.Build.Cythonize",
            "--inplace",
            "--quiet",
            str(copy),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        made = copy.with_name(f"{name}{SUFFIX}")
        if done.returncode or not made.exists():
            raise RuntimeError(f"cannot compile {source}:\n{done.stdout}{done.stderr}")
        made.replace(CACHE / made.name)
