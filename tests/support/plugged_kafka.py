"""A real Kafka with plug-ins (tests/java): for client telemetry, with the program that pushes; for
descriptions of topologies.
"""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

from kcore.cli.demo.java import KafkaInstallation

PROGRAMS = Path(__file__).resolve().parents[1] / "java"
TELEMETRY = ("TelemetryFile", "PushMetrics")


def plugged_installation(
    installation: KafkaInstallation, folder: Path, programs: tuple[str, ...] = TELEMETRY
) -> KafkaInstallation:
    """The same Java, with its jars and those programs, compiled into `folder`."""
    javac = shutil.which(str(Path(installation.java).resolve().parent / "javac"))
    assert javac is not None, "a JDK has a javac beside its java"
    sources = [str(PROGRAMS / f"{name}.java") for name in programs]
    classes, jars = folder / "classes", folder / "jars"
    command = [javac, "-cp", f"{installation.jars}/*", "-d", str(classes), *sources]
    subprocess.run(command, check=True)
    jars.mkdir()
    for jar in installation.jars.glob("*.jar"):
        (jars / jar.name).symlink_to(jar.resolve())
    with zipfile.ZipFile(jars / "plugged.jar", "w") as packed:
        for found in classes.glob("*.class"):
            packed.write(found, found.name)
    return KafkaInstallation(installation.java, jars)


def telemetry_settings(file: Path) -> dict[str, str]:
    """Options of brokers that write what is pushed into that file."""
    return {"metric.reporters": "TelemetryFile", "telemetry.file": str(file)}
