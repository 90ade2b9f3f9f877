"""A virtual environment with kcore and what its jobs need, packed by venv-pack.

Nothing is fetched or compiled for it: what is installed here is copied.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tidy_rules import BESIDE, ROOT

WITH_SPARK = {"pyspark", "py4j"}  # Spark sends its own along
NOT_RUN = shutil.ignore_patterns("__pycache__", "*.pyx", "*.c")


def _needed(wanted: Requirement, seen: set[str]) -> Iterator[Distribution]:
    """What is installed of it, and of what it needs."""
    found = distribution(wanted.name)
    for text in found.requires or ():
        other = Requirement(text)
        extras = wanted.extras or {""}
        if other.marker and not any(other.marker.evaluate({"extra": name}) for name in extras):
            continue
        name = canonicalize_name(other.name)
        if name not in WITH_SPARK and (name not in seen or other.extras):
            seen.add(name)
            yield from _needed(other, seen)
    yield found


def pack(folder: Path) -> Path:
    """The archive, made in this folder."""
    env = folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
    (site,) = env.glob("lib/python*/site-packages")
    for found in _needed(Requirement("kcore[jobs]"), {"kcore"}):
        for path in found.files or () if found.name != "kcore" else ():
            if not {"..", "tests"} & set(path.parts):
                (site / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path.locate(), site / path)
    shutil.copytree(ROOT / "kcore", site / "kcore", ignore=NOT_RUN)
    for room in BESIDE:
        copied = site / "kcore" / room
        shutil.copytree(ROOT / room, copied, ignore=NOT_RUN, dirs_exist_ok=True)
    packed = folder / "env.tar.gz"
    given = ("-p", env, "-o", packed, "--compress-level", "1", "--quiet")
    subprocess.run([sys.executable, "-m", "venv_pack", *given], check=True)
    return packed
