"""What is built from the source archive is what is built here."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
# Of what the tree has under kcore/: setuptools takes the first by itself, and the second are made.
KNOWN = {".py", ".pyi", ".txt", ".typed"}
MADE = {".so", ".pyc", ".c"}


def test_everything_that_is_compiled_is_in_it():
    # An archive without it still builds, and what is installed then has no codec.
    lines = [line.split() for line in (ROOT / "MANIFEST.in").read_text().splitlines()]
    packed = {one for line in lines if line[:2] == ["recursive-include", "kcore"] for one in line}
    found = {path.suffix for path in (ROOT / "kcore").rglob("*.*") if path.is_file()}
    assert found >= {".pyx", ".pxd", ".h"}
    assert {f"*{suffix}" for suffix in found - KNOWN - MADE} <= packed
