"""What a worker of Spark's does once."""

from __future__ import annotations

import gc
import platform
import resource
import subprocess
import sys
from types import SimpleNamespace

import pytest

from kcore.pipeline import workers

PROGRAM = """
import gc, os, sys
from types import SimpleNamespace
from kcore.pipeline.workers import settle
settle()
assert gc.get_freeze_count() == 0, "not a worker"
sys.modules["__main__"].__spec__ = SimpleNamespace(name="pyspark.daemon")
settle()
first = gc.get_freeze_count()
kept = [[] for _ in range(1000)]
settle()
print(first > 1000, gc.get_freeze_count() - first)
child = os.fork()
if not child:
    settle()
    os._exit(gc.get_freeze_count() > first + 900)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_worker_leaves_out_what_is_loaded_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.stdout.split(), done.stderr) == (["True", "0", "1"], "")


MEMORY = """
import resource, sys
from types import SimpleNamespace
from kcore.pipeline.workers import settle
if sys.argv[1] == "worker":
    sys.modules["__main__"].__spec__ = SimpleNamespace(name="pyspark.daemon")
settle()
def fill():
    blocks = [b"x" * (10 << 20) for _ in range(3)]
fill()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    fill()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="as glibc's allocator has it")
def test_a_worker_keeps_the_memory_of_one_batch_for_the_next() -> None:
    faults = [
        int(subprocess.check_output([sys.executable, "-c", MEMORY, who]))
        for who in ("worker", "other")
    ]
    pages = (30 << 20) // resource.getpagesize()
    assert faults[0] < pages / 2, faults
    assert faults[1] > pages, "nothing would be gained"


def test_a_worker_that_has_no_room_for_that_goes_on() -> None:
    limit = """
import resource
from pathlib import Path
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, ((pages + 4_000) * resource.getpagesize(),) * 2)
from kcore.pipeline.workers import settle"""
    program = PROGRAM.replace("from kcore.pipeline.workers import settle", limit, 1)
    program = program[: program.index("first = ")]
    subprocess.run([sys.executable, "-c", "import kcore.pipeline.workers" + program], check=True)


def test_others_keep_their_collector_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gc.get_freeze_count()
    for main in (SimpleNamespace(), SimpleNamespace(__spec__=None)):
        monkeypatch.setitem(sys.modules, "__main__", main)
        workers.settle()
    assert gc.get_freeze_count() == before
