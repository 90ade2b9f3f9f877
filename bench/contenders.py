"""Who takes part in the comparison, and how each is started.

A contender is a command that takes the options of `readers/common.py` and prints one line of JSON.
Those that need more than Python are built into `.cache/bench` at first use (and after a change);
one that cannot be built here is left out, with the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / ".cache" / "bench"
BUILD_TIMEOUT_S = 300
PACKED = frozenset({"gzip", "snappy", "lz4", "zstd"})


class UnavailableError(RuntimeError):
    """A contender cannot take part here; the text says why."""


@dataclass(frozen=True)
class Contender:
    """command: makes what to run, building it if need be; UnavailableError.

    codecs: what it can read, None for all. share: it reads one record in so many, because a full
    run of it would be most of the time. reads: whether it hands over records at all. shares:
    whether it is a member of a share group.
    """

    command: Callable[[], list[str]]
    codecs: frozenset[str] | None = None
    share: int = 1
    reads: bool = True
    shares: bool = False


def _python(script: str, *options: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, str(HERE / script), *options]


def _java(program: str) -> list[str]:
    from kcore.cli.demo.java import KafkaUnavailableError, find_installation

    try:
        found = find_installation()
    except KafkaUnavailableError as error:
        raise UnavailableError(str(error)) from error
    source = HERE / "java" / f"{program}.java"
    if _stale(CACHE / "java" / f"{program}.class", [source]):
        target = str(CACHE / "java")
        _build(["javac", "-cp", f"{found.jars}/*", "-d", target, str(source)], HERE)
    path = f"{CACHE / 'java'}:{found.jars}/*"
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    return [found.java, "-Xms256m", "-Xmx1g", quiet, "-cp", path, program]


def _go() -> list[str]:
    binary = CACHE / "franz_go"
    if _stale(binary, [HERE / "go" / name for name in ("main.go", "go.mod", "go.sum")]):
        _build(["go", "build", "-o", str(binary), "."], HERE / "go")
    return [str(binary)]


def _stale(built: Path, sources: list[Path]) -> bool:
    newest = max(source.stat().st_mtime for source in sources)
    return not built.exists() or built.stat().st_mtime < newest


def _build(command: list[str], folder: Path) -> None:
    if shutil.which(command[0]) is None:
        raise UnavailableError(f"no {command[0]} on the PATH")
    CACHE.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        check=False,
        env={**os.environ, "GOFLAGS": "-mod=readonly"},
    )
    if done.returncode:
        raise UnavailableError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")


CONTENDERS = {
    "probe": Contender(_python("probe.py")),
    "probe-columns": Contender(_python("probe_columns.py")),
    # What views point into is the answer itself.
    "probe-views": Contender(_python("probe_views.py"), codecs=frozenset({"none"})),
    "kcore": Contender(_python("readers/kcore_poll.py")),
    "kcore-iterate": Contender(_python("readers/kcore_iterate.py")),
    "kcore-async": Contender(_python("readers/kcore_async_getmany.py")),
    "kcore-async-for": Contender(_python("readers/kcore_async_iterate.py")),
    "kcore-arrow": Contender(_python("readers/kcore_arrow.py")),
    "kcore-arrow-3": Contender(_python("readers/kcore_arrow.py", "--columns", "three")),
    "kcore-views": Contender(_python("readers/kcore_views.py")),
    "confluent": Contender(_python("readers/confluent_tuned.py")),
    "aiokafka": Contender(_python("readers/aiokafka_getmany.py"), share=4),
    "kafka-python": Contender(_python("readers/kafka_python.py"), share=16),
    "java": Contender(partial(_java, "Reader")),
    "franz-go": Contender(_go),
    "codec-library": Contender(_python("probe_codec.py"), PACKED, reads=False),
    "codec-kcore": Contender(_python("probe_codec.py", "--by", "kcore"), PACKED, reads=False),
    "share-kcore": Contender(_python("readers/share_kcore.py"), shares=True),
    "share-confluent": Contender(_python("readers/share_confluent.py"), shares=True),
    "share-java": Contender(partial(_java, "ShareReader"), shares=True),
}
# Those of the comparison, those that only unpack beside them, and those of share groups.
READERS = [name for name, one in CONTENDERS.items() if one.reads and not one.shares]
ALONE = [name for name, one in CONTENDERS.items() if not one.shares]
SHARERS = [name for name, one in CONTENDERS.items() if one.shares]
