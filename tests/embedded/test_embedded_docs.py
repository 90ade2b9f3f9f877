"""The examples of docs/EMBEDDED*.md run, in a pytest of their own that finds fixtures itself."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def examples():
    pages = sorted((ROOT / "docs").glob("EMBEDDED*.md"))
    assert len(pages) > 1
    return [code for page in pages for code in EXAMPLE.findall(page.read_text())]


def as_test(code):
    if "def test_" in code:
        return code
    body = "".join(f"    {line}\n" for line in code.splitlines())
    return f"def test_example():\n{body}"


def run_pytest(*arguments, cwd):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.Popen(
        command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def test_the_examples_run(tmp_path):
    found = examples()
    assert len(found) >= 20
    for number, code in enumerate(found):
        (tmp_path / f"test_example_{number}.py").write_text(as_test(code))
    with run_pytest(cwd=tmp_path) as ran:
        said, _ = ran.communicate(timeout=100)
    assert ran.returncode == 0, said


USES_THEM = """
import socket

import pytest


@pytest.mark.parametrize("number", range(5))
def test_a_fresh_broker(kcore_broker, number):
    assert kcore_broker.topics() == {}
    kcore_broker.create_topic("t")
    kcore_broker.produce("t", [(None, b"v")])
    assert kcore_broker.end_offsets("t") == [1]


def test_a_fresh_cluster(kcore_cluster, kcore_broker):
    assert len(kcore_cluster.addresses) == 3
    assert kcore_broker.bootstrap not in kcore_cluster.bootstrap
    for address in kcore_cluster.addresses:
        host, port = address.split(":")
        socket.create_connection((host, int(port)), timeout=10).close()
"""


def test_processes_that_test_at_the_same_time_do_not_meet(tmp_path):
    (tmp_path / "test_uses_them.py").write_text(USES_THEM)
    runs = [run_pytest(cwd=tmp_path) for _ in range(2)]
    for ran in runs:
        with ran:
            said, _ = ran.communicate(timeout=100)
        assert ran.returncode == 0, said
        assert "6 passed" in said
