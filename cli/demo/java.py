"""What a real Kafka needs here, a Java 17 and the jars: found, or said plainly what is missing.

Java is JAVA_HOME's, else the first on the PATH, as Spark and Kafka's own scripts choose.
The jars are those of `tests/pom.xml`, fetched by `make kafka` into `.cache/kafka/jars`;
KCORE_KAFKA_JARS names another folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

JARS_VARIABLE: Final = "KCORE_KAFKA_JARS"
JARS_FOLDER: Final = Path(".cache/kafka/jars")
SHARED_CLASSES: Final = "classes.jsa"  # beside the jars, if tools/share_classes.py made it
JAVA_MAJOR_MIN: Final = 17
_VERSION = re.compile(r'version "(\d+)')

# Kafka's own scripts, by the name people know, and the class that each one starts.
TOOLS: Final = {
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-configs": "org.apache.kafka.tools.ConfigCommand",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
}
SERVER: Final = "kafka.Kafka"
TOOL_JVM: Final = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
# Of a broker's log: groups, elections and what goes wrong.
LOGGING: Final = {
    "showDateTime": "true",
    "dateTimeFormat": "HH:mm:ss.SSS",
    "defaultLogLevel": "warn",
    "log.kafka.server.KafkaRaftServer": "info",
    "log.kafka.server.KafkaServer": "info",
    "log.org.apache.kafka.coordinator.group": "info",
    "log.org.apache.kafka.raft": "info",
}


class JavaUnavailableError(RuntimeError):
    """There is no Java here that is recent enough; the text says what there is instead."""


class KafkaUnavailableError(RuntimeError):
    """No real Kafka can be started here; the text says what is missing and what to do."""


@dataclass(frozen=True)
class KafkaInstallation:
    """A Java and a folder of Kafka's jars."""

    java: str
    jars: Path

    def command(self, main: str, *args: str, jvm: tuple[str, ...] = TOOL_JVM) -> list[str]:
        """The command line that runs the class `main`, or a program's source, with `args`."""
        shared = self.jars / SHARED_CLASSES
        if shared.exists():  # one of another Java or of other jars is passed over, quietly
            jvm = (*jvm, f"-XX:SharedArchiveFile={shared}", "-Xlog:cds*=off")
        logging = [f"-Dorg.slf4j.simpleLogger.{key}={value}" for key, value in LOGGING.items()]
        return [self.java, *jvm, *logging, "-cp", f"{self.jars}/*", main, *args]


def find_java() -> str:
    """The Java to start, Kafka and Spark alike. Raises JavaUnavailableError."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if java is None:
        where = f"in JAVA_HOME, which is {home}" if home else "on the PATH or in JAVA_HOME"
        raise JavaUnavailableError(f"no java {where}; Java {JAVA_MAJOR_MIN} or later is needed")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    version = _VERSION.search(said.stderr + said.stdout)
    if version is None or int(version[1]) < JAVA_MAJOR_MIN:
        major = version[1] if version else "of an unknown version"
        raise JavaUnavailableError(
            f"{java} is Java {major}; Java {JAVA_MAJOR_MIN} or later is needed"
        )
    return java


def find_installation(jars: Path | None = None) -> KafkaInstallation:
    """Find Java and the jars.

    In `jars`, else KCORE_KAFKA_JARS, else `.cache/kafka/jars` here or in a folder
    above. Raises KafkaUnavailableError.
    """
    try:
        java = find_java()
    except JavaUnavailableError as why:
        raise KafkaUnavailableError(str(why)) from why
    folder = jars or _jars_folder()
    if not any(folder.glob("kafka_2.13-*.jar")):
        raise KafkaUnavailableError(
            f"no Kafka jars in {folder}: `make kafka` fetches them with Maven, "
            f"or name a folder that has them in {JARS_VARIABLE}"
        )
    return KafkaInstallation(java, folder)


def _jars_folder() -> Path:
    named = os.environ.get(JARS_VARIABLE)
    if named:
        return Path(named)
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / JARS_FOLDER).is_dir():
            return folder / JARS_FOLDER
    return here / JARS_FOLDER
