"""`kcore demo`: start or find a Kafka, let a group read a topic, show it, and check the outcome.

The outcome is checked against the broker, not against what the members say: every partition's
committed offset must have reached its end, and no record of our own topic may be missing or be
counted twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import track

from kcore import Consumer
from kcore.cli.demo import flights
from kcore.cli.demo.board import Board
from kcore.cli.demo.display import display, final_table
from kcore.cli.demo.members import Members
from kcore.cli.endings import DONE, REFUSED, RefusalError
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.cli.demo.kafka_cluster import KafkaCluster

VERSION: Final = "4.3.1"
TOPIC: Final = "flights"
PARTITIONS: Final = 4
LISTEN_S: Final = 0.1
STALLED_S: Final = 60.0
# Long enough for every member to be there before the first generation is made.
REBALANCE_DELAY_MS: Final = 1_000
LOAD_HINT: Final = "to read a topic of yours: make run BOOTSTRAP=host:port TOPIC=name"


@dataclass(frozen=True)
class Target:
    """What is read. `records` is how many there must be, None if only the offsets tell."""

    bootstrap: str
    topic: str
    group: str
    records: int | None


def run_demo(bootstrap: str | None, topic: str | None, group: str, members: int) -> int:
    """Run it; the exit code. Raises KafkaError, RefusalError."""
    console = Console()
    if bootstrap is not None and topic is not None:
        return read_all(Target(bootstrap, topic, group, None), members, console)
    with own_kafka(console) as kafka:
        load_flights(kafka, console)
        return read_all(Target(kafka.bootstrap, TOPIC, group, flights.ROWS), members, console)


@contextmanager
def own_kafka(console: Console) -> Iterator[KafkaCluster]:
    """A Kafka for the length of the demo. Raises RefusalError, saying what is missing."""
    try:
        from kcore.cli.demo.kafka_cluster import KafkaCluster  # noqa: PLC0415 (an extra's)
    except ModuleNotFoundError as missing:
        raise RefusalError(f"{missing.name} is missing: pip install 'kcore[demo]'") from missing
    from kcore.cli.demo.java import KafkaUnavailableError  # noqa: PLC0415
    from kcore.cli.demo.kafka_node import NodeError  # noqa: PLC0415

    try:
        cluster = KafkaCluster(
            settings={"group.initial.rebalance.delay.ms": str(REBALANCE_DELAY_MS)}
        )
        began_s = time.monotonic()
        with console.status("starting Apache Kafka"):
            cluster.start()
    except (KafkaUnavailableError, NodeError) as why:
        raise RefusalError(f"{why}\n{LOAD_HINT}") from why
    try:
        took_s = time.monotonic() - began_s
        console.print(f"Apache Kafka {VERSION} is up at {cluster.bootstrap} after {took_s:.1f} s")
        yield cluster
    finally:
        cluster.close()


def load_flights(kafka: KafkaCluster, console: Console) -> None:
    """Write every flight into a fresh topic. Raises RefusalError."""
    from kcore.cli.demo.kafka_data import KafkaDataError  # noqa: PLC0415 (an extra's)

    rows = track(
        flights.flights(),
        description="loading flights",
        total=flights.ROWS,
        console=console,
        transient=True,
    )
    began_s = time.monotonic()
    try:
        kafka.create_topic(TOPIC, PARTITIONS)
        count = kafka.produce(TOPIC, rows)
    except KafkaDataError as why:
        raise RefusalError(str(why)) from why
    took_s = time.monotonic() - began_s
    console.print(
        f"{count:,} flights written to topic {TOPIC}, {PARTITIONS} partitions, in {took_s:.1f} s"
    )


def read_all(target: Target, members: int, console: Console) -> int:
    """Have the group read up to where the topic ends now; the exit code."""
    settings = {
        "bootstrap_servers": target.bootstrap.split(","),
        "group_id": target.group,
        "enable_auto_commit": False,
    }
    with Consumer(**settings) as watcher:  # it never joins: it only asks for offsets
        partitions = _partitions(watcher, target)
        ends = {part.partition: end for part, end in watcher.end_offsets(partitions).items()}
        board = Board(ends, members)
        elapsed_s = _watch(target, board, console)
        committed = {part.partition: _committed(watcher, part) for part in partitions}
    return report(target, board, committed, elapsed_s, console)


def _partitions(watcher: Consumer, target: Target) -> list[TopicPartition]:
    known = watcher.partitions_for_topic(target.topic)
    if not known:
        raise RefusalError(f"there is no topic {target.topic!r} at {target.bootstrap}")
    return [TopicPartition(target.topic, number) for number in sorted(known)]


def _committed(watcher: Consumer, partition: TopicPartition) -> int | None:
    found = watcher.committed(partition)
    return found if isinstance(found, int) else None


def _watch(target: Target, board: Board, console: Console) -> float:
    """Run the members until the board is done; the seconds from first assignment to last commit.

    Raises RefusalError if a member fails or nothing moves for STALLED_S.
    """
    spec = {"bootstrap": target.bootstrap, "topic": target.topic, "group": target.group}
    ends = {str(number): row.end for number, row in board.partitions.items()}
    began_s: float | None = None
    moved_s = time.monotonic()
    with display(console) as shown, Members(len(board.members), spec | {"ends": ends}) as said:
        while not board.done:
            heard = said.next(LISTEN_S)
            now_s = time.monotonic()
            if heard is not None:
                board.take(*heard)
                moved_s = now_s
                if began_s is None and heard[1]["said"] == "assigned":
                    began_s = now_s
            shown.show(board, now_s - began_s if began_s is not None else 0.0)
            if board.failures:
                raise RefusalError("\n".join(board.failures))
            if now_s - moved_s > STALLED_S:
                raise RefusalError(f"nothing was committed for {STALLED_S:.0f} s")
        took_s = time.monotonic() - (began_s or moved_s)
        shown.show(board, took_s)
    return took_s


def report(
    target: Target,
    board: Board,
    committed: dict[int, int | None],
    elapsed_s: float,
    console: Console,
) -> int:
    """Print the outcome; the exit code says whether it is complete."""
    console.print(final_table(board, committed))
    rate = board.records / elapsed_s if elapsed_s > 0 else 0.0
    leader = "unknown" if board.leader is None else f"member {board.leader}"
    console.print(
        f"{board.records:,} records ({board.size_bytes / 1e6:,.1f} MB) in {elapsed_s:.2f} s: "
        f"{rate:,.0f} records/s\n"
        f"group {target.group}: generation {board.generation}, leader {leader}",
        highlight=False,
        soft_wrap=True,
    )
    wrong = board.shortfalls(committed, target.records)
    for text in wrong:
        console.print(f"[red]{text}", highlight=False, soft_wrap=True)
    return REFUSED if wrong else DONE
