"""mypy over the package as installed: `transports/ clients/ cli/` are subpackages only there.

A folder of links gives mypy that view without copying or installing; its messages are given back
in the tree's own paths.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VIEW = ROOT / ".cache" / "mypy"
BYTECODE = "__pycache__"
PATH = re.compile(r"^kcore/(\w+)(?=/)", re.MULTILINE)


def package_folders() -> dict[str, str]:
    """Subpackage of kcore -> its folder, for those that live beside `kcore/`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    mapping = settings["tool"]["setuptools"]["package-dir"]
    return {name.partition(".")[2]: folder for name, folder in mapping.items() if "." in name}


def link_view(beside: dict[str, str]) -> None:
    """Make `VIEW/kcore` hold a link to each part of the package, and nothing else but the bytecode
    of who imported it from there.
    """
    package = VIEW / "kcore"
    package.mkdir(parents=True, exist_ok=True)
    wanted = {path.name: path for path in (ROOT / "kcore").iterdir()}
    wanted |= {name: ROOT / folder for name, folder in beside.items()}
    wanted.pop(BYTECODE, None)
    for stale in package.iterdir():
        if stale.name not in wanted and stale.name != BYTECODE:
            stale.unlink()
    for name, target in wanted.items():
        link = package / name
        if not link.is_symlink() or link.readlink() != target:  # the cache may be another tree's
            link.unlink(missing_ok=True)
            link.symlink_to(target)


def main() -> int:
    beside = package_folders()
    link_view(beside)
    mypy = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    command = [*mypy, "-p", "kcore", *sys.argv[1:]]
    done = subprocess.run(command, check=False, cwd=VIEW, text=True, capture_output=True)
    sys.stdout.write(PATH.sub(lambda match: beside.get(match[1], match[0]), done.stdout))
    sys.stderr.write(done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
