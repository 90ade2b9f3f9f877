"""What a worker of Spark's does once."""

from __future__ import annotations

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
again = gc.get_freeze_count()
import mailbox
settle()
print(first > 1000, again - first, gc.get_freeze_count() > first + 1000)
"""


def test_a_worker_leaves_out_what_is_loaded_whenever_there_is_more_of_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.stdout.split(), done.stderr) == (["True", "0", "True"], "")


HASTE = """
import pickle, socket, sys
from types import SimpleNamespace
from kcore.pipeline.workers import SentToWorkers

class Reader(SentToWorkers):
    def __init__(self):
        self.option = 7

def worker(sock):
    assert pickle.loads(sent).option == 7

def asked(one):
    options = socket.TCP_NODELAY, socket.TCP_QUICKACK
    return [one.getsockopt(socket.IPPROTO_TCP, option) for option in options]

sent = pickle.dumps(Reader())
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(
    server.getsockname()
) as one:
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    paced = "bbr" in open("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read()
    if paced:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bbr")
    worker(one)
    before = asked(one)
    sys.modules["__main__"].__spec__ = SimpleNamespace(name="pyspark.daemon")
    pickle.loads(sent)  # not in a task
    assert asked(one) == before
    worker(one)
    control = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    assert not control.startswith(b"bbr"), control
    print(before, asked(one))
local, other = socket.socketpair()  # spark.python.unix.domain.socket.enabled
worker(local)
worker("nothing like a socket")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody asks for acknowledgements")
def test_what_is_sent_to_a_worker_has_its_connection_wait_for_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::ResourceWarning", "-c", HASTE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[0, 0] [1, 1]\n", "")


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
    asked: list[str] = []
    seen = SimpleNamespace(
        collect=lambda: asked.append("collect"), freeze=lambda: asked.append("freeze")
    )
    monkeypatch.setattr(workers, "gc", seen)
    for main in (SimpleNamespace(), SimpleNamespace(__spec__=None)):
        monkeypatch.setitem(sys.modules, "__main__", main)
        workers.settle()
    assert asked == []
    worker = SimpleNamespace(__spec__=SimpleNamespace(name="pyspark.daemon"))
    monkeypatch.setitem(sys.modules, "__main__", worker)
    monkeypatch.setattr(workers, "_settled_modules", 0)
    workers.settle()
    assert asked == ["collect", "freeze"]
