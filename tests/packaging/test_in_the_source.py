"""Whoever has installed kcore out of its source, and is still in that folder, imports what is not
built: Python looks there first. What to do is said.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kcore

ADVICE = "kcore is imported from its source, which is not built"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """What is in the folder `kcore` of a clone, without what is beside it."""
    folder = tmp_path_factory.mktemp("clone")
    compiled = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(Path(kcore.__file__).parent, folder / "kcore", ignore=compiled)
    return folder


@pytest.mark.parametrize(
    "line",
    [("-c", "from kcore import Consumer"), ("-c", "import kcore; kcore.Admin"),
     ("-c", "import kcore; kcore.ConsumerRecord"), ("-m", "kcore")],
    ids=" ".join,
)  # fmt: skip
def test_what_to_do_is_said(source, line):
    # -S: nothing that is installed is found, in the environment of whoever tests neither.
    done = subprocess.run(
        [sys.executable, "-S", *line], cwd=source, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert f"ModuleNotFoundError: {ADVICE}" in last
    assert str(source / "kcore") in last
    assert "another folder" in last
    assert "pip install -e ." in last


def test_a_library_that_is_missing_is_what_is_named():
    code = "import sys; sys.modules['selectors'] = None; import kcore; kcore.Consumer"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "selectors" in last
    assert ADVICE not in last
