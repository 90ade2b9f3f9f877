"""The programs of tests/java, compiled together once: Java compiles what it is given as a source
each time it runs it, which is 1.7 s of the 2.3 s of CPU that such a program takes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path

from kcore.cli.demo.java import KafkaInstallation

FOLDER = Path(__file__).resolve().parents[1] / "java"
COMPILED = FOLDER.parents[1] / ".cache" / "java"
# What runs a source compiles it, too: there may be no `javac` beside a `java`.
COMPILER = ("-m", "jdk.compiler/com.sun.tools.javac.Main", "-proc:none", "-nowarn")


def command(installation: KafkaInstallation, name: str, *args: str) -> list[str]:
    """What runs that program, with Kafka's jars."""
    found = classes(installation)
    if found is None:  # as with jars for which one of them is not: others may be
        return installation.command(str(FOLDER / f"{name}.java"), *args)
    line = installation.command(name, *args)
    line[line.index("-cp") + 1] += f"{os.pathsep}{found}"
    return line


@cache
def classes(installation: KafkaInstallation) -> Path | None:
    """A folder of what they are compiled to, for this Java and these jars; None if one of them
    cannot be. `make clean` takes those of earlier ones away.
    """
    sources = sorted(FOLDER.glob("*.java"))
    jars = sorted(map(str, installation.jars.glob("*.jar")))
    known = hashlib.sha256(repr((installation.java, jars)).encode())
    for source in sources:
        known.update(source.read_bytes())
    folder = COMPILED / known.hexdigest()[:16]
    COMPILED.mkdir(parents=True, exist_ok=True)
    with (COMPILED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not folder.exists():
            made = folder.with_suffix(".new")
            given = ("-cp", os.pathsep.join(jars), "-d", str(made), *map(str, sources))
            done = subprocess.run([installation.java, *COMPILER, *given], capture_output=True)
            if done.returncode:
                return None
            made.rename(folder)
    return folder
