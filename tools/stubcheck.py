"""Hold the stubs (.pyi) against the compiled extensions with mypy's stubtest: `make lint`.

What Cython adds to every module is not looked for in the stubs, nor are names that a module only
imports or keeps for itself. Looked at is the package as installed (see typecheck.py).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from typecheck import ROOT, VIEW, link_view, package_folders

CONFIG = "[mypy]\nfollow_imports = silent\nignore_missing_imports = True\n"
SCAFFOLDING = ("__pyx_capi__", "__test__", "__reduce_cython__", "__setstate_cython__")
# What classes made in C do not show: signatures of `__init__` with keywords, the buffer protocol
# before Python 3.12, and an `__radd__` that comes with `__add__` and does nothing. And the kind of
# named tuples: `kcore.tuples` says that theirs is typing's.
HIDDEN = (
    r"kcore\.(records\.survey\.Survey|wire\.frames\.DecodedRequest)",
    r"kcore\.records\.batch\.Memory\.__buffer__",
    r"kcore\.records\.(batch\.PartitionBatch|builder\.BatchBuilder)\.__init__",
    r"kcore\.records\.record\.ConsumerRecord\.__radd__",
)
# Not the module's own, or nobody's business.
NOT_PUBLIC = (
    r"kcore\.records\.legacy\.Unfolded",
    r"kcore\.records\.(markers|survey)\.RECORD_FAULTS",
    r"kcore\.records\.reader\.ABORT",
    r"kcore\.records\.names\.Names",
    r"kcore\.wire\.codec\.Source",
    r"kcore\.wire\.frames\.(API_TABLE|FrameBuffer)",
)


def modules(beside: dict[str, str]) -> list[str]:
    """Every extension that has a stub. beside: folders that are mapped into kcore."""
    places = {"kcore": ROOT / "kcore"}
    places |= {f"kcore.{name}": ROOT / folder for name, folder in beside.items()}
    return sorted(
        ".".join([package, *stub.relative_to(folder).with_suffix("").parts])
        for package, folder in places.items()
        for stub in folder.rglob("*.pyi")
    )


def main() -> int:
    beside = package_folders()
    link_view(beside)
    allowed = [rf".*\.{name}" for name in SCAFFOLDING] + [*HIDDEN, *NOT_PUBLIC]
    with tempfile.TemporaryDirectory() as folder:
        config, names = Path(folder, "mypy.ini"), Path(folder, "allowed")
        config.write_text(CONFIG, "utf-8")
        names.write_text("\n".join(allowed) + "\n", "utf-8")
        command = [
            *(sys.executable, "-m", "mypy.stubtest", "--concise", "--ignore-unused-allowlist"),
            *("--mypy-config-file", str(config), "--allowlist", str(names), *modules(beside)),
        ]
        return subprocess.run(command, check=False, cwd=VIEW).returncode


if __name__ == "__main__":
    sys.exit(main())
