"""A real Kafka with plug-ins (tests/java): for client telemetry, with the program that pushes; for
descriptions of topologies.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import java_programs

from kcore.cli.demo.java import KafkaInstallation

TELEMETRY = ("TelemetryFile", "PushMetrics")


def plugged_installation(
    installation: KafkaInstallation, folder: Path, programs: tuple[str, ...] = TELEMETRY
) -> KafkaInstallation:
    """The same Java, with its jars and, in `folder`, one of what those programs are compiled to."""
    classes, jars = java_programs.classes(installation), folder / "jars"
    assert classes is not None, "the programs of tests/java can be compiled with these jars"
    jars.mkdir()
    for jar in installation.jars.glob("*.jar"):
        (jars / jar.name).symlink_to(jar.resolve())
    with zipfile.ZipFile(jars / "plugged.jar", "w") as packed:
        for found in classes.glob("*.class"):
            if found.stem.partition("$")[0] in programs:
                packed.write(found, found.name)
    return KafkaInstallation(installation.java, jars)


def telemetry_settings(file: Path) -> dict[str, str]:
    """Options of brokers that write what is pushed into that file."""
    return {"metric.reporters": "TelemetryFile", "telemetry.file": str(file)}
