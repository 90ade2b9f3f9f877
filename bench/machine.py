"""Where and with what figures were made, and the files that keep them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PEERS = ("confluent-kafka", "aiokafka", "kafka-python", "pyspark", "pyarrow", "polars")
CODECS = ("cramjam", "isal", "lz4", "zstandard")

Result = dict[str, Any]  # "section", "about", and what the section found


def load() -> str:
    one, five, _ = os.getloadavg()
    return f"load {one:.1f} over 1 min, {five:.1f} over 5"


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def about() -> dict[str, str]:
    """Machine, commit, versions, command, load."""
    git = ["git", "-C", str(HERE)]
    commit = _said([*git, "describe", "--always", "--abbrev=10"])
    # What a run writes itself (results, plots, tables) is not what was measured.
    if _said([*git, "status", "--porcelain", "--", ":/", ":!/bench/results", ":!/docs"]):
        commit += "-dirty"
    return {
        "command": command(),
        "commit": commit,
        "machine": f"{os.cpu_count()} cores of {cpu_model()}, {platform.system()}",
        "load": f"{load()}, at the end",
        "python": platform.python_version(),
        "versions": ", ".join(f"{name} {version(name)}" for name in PEERS + CODECS),
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }


def command() -> str:
    """How this program was called, without where it writes to: that changes no figure."""
    words = iter(sys.argv[1:])
    kept = [f"python bench/{Path(sys.argv[0]).name}"]
    for word in words:
        if word in {"--out", "--json", "--plots", "--document", "--bootstrap"}:
            next(words, None)
        else:
            kept.append(word)
    return " ".join(kept)


def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def save(path: Path, section: str, found: dict[str, Any]) -> Result:
    """Write what a section found, with where it was found."""
    result = {"section": section, "about": about(), **found}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    return result
