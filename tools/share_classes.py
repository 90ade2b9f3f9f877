"""Keep what a Kafka's JVM loads as it starts in an archive beside its jars, once: `make kafka`.

With it (Java's class data sharing) nodes, Kafka's tools and programs that have its jars start in
little more than half of the CPU time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kcore.cli.demo.java import (
    JARS_VARIABLE,
    SERVER,
    SHARED_CLASSES,
    TOOL_JVM,
    KafkaInstallation,
    KafkaUnavailableError,
    find_installation,
)
from kcore.cli.demo.kafka_cluster import KafkaCluster


class Archiving(KafkaInstallation):
    """Its nodes leave an archive, with this end of its name, when they end in order."""

    NEW = ".new"

    def command(self, main: str, *args: str, jvm: tuple[str, ...] = TOOL_JVM) -> list[str]:
        if main == SERVER:
            archive = self.jars / f"{SHARED_CLASSES}{self.NEW}"
            jvm = (*jvm, f"-XX:ArchiveClassesAtExit={archive}")
        return super().command(main, *args, jvm=jvm)


def main() -> None:
    if os.environ.get(JARS_VARIABLE):
        return  # somebody's own folder
    try:
        found = find_installation(Path(sys.argv[1]).absolute())
    except KafkaUnavailableError:
        return  # who fetches it has said so
    archive = found.jars / SHARED_CLASSES
    newest_s = max(jar.stat().st_mtime for jar in found.jars.glob("*.jar"))
    if archive.exists() and archive.stat().st_mtime > newest_s:
        return
    archive.unlink(missing_ok=True)
    with KafkaCluster(installation=Archiving(found.java, found.jars)) as kafka:
        kafka.stop(0)
    made = archive.with_name(archive.name + Archiving.NEW)
    if made.exists():
        made.rename(archive)  # whole or not at all: a JVM dies of a part of one
    else:
        print(f"{found.java} made no archive: Kafka starts as slowly as ever", file=sys.stderr)


if __name__ == "__main__":
    main()
