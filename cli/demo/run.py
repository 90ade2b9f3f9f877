"""`kcore demo`: start or find brokers, let a group read a topic, show it, and check the outcome.

The outcome is checked against the broker, not against what the members say: every partition's
committed offset must have reached its end, and no record of our own topic may be missing or be
counted twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.progress import track

from kcore import Consumer
from kcore.cli.demo import flights
from kcore.cli.demo.board import Board
from kcore.cli.demo.brokers import NODES, Brokers, embedded_nodes, kafka_nodes
from kcore.cli.demo.display import display, final_table
from kcore.cli.demo.members import Members
from kcore.cli.demo.outage import Outage
from kcore.cli.endings import DONE, REFUSED, RefusalError
from kcore.structs import TopicPartition

TOPIC: Final = "flights"
PARTITIONS: Final = 4
LISTEN_S: Final = 0.1
STALLED_S: Final = 60.0
# What a member reads in a second at most while a node is killed and revived: the whole topic takes
# half a second otherwise, and it would all be over.
PACE: Final = 30_000


@dataclass(frozen=True)
class Target:
    """What is read. `records` is how many there must be, None if only the offsets tell."""

    bootstrap: str
    topic: str
    group: str
    records: int | None


@dataclass(frozen=True)
class Wishes:
    """What was asked for on the command line.

    bootstrap, topic: somebody's own, both or none. kafka: a real Kafka instead of embedded nodes.
    kill_node: take the group's coordinator down half way, and bring it back.
    """

    bootstrap: str | None = None
    topic: str | None = None
    group: str = "kcore-demo"
    members: int = 3
    kafka: bool = False
    kill_node: bool = False


def run_demo(wishes: Wishes) -> int:
    """Run it; the exit code. Raises KafkaError, RefusalError."""
    console = Console()
    if wishes.bootstrap is not None and wishes.topic is not None:
        target = Target(wishes.bootstrap, wishes.topic, wishes.group, None)
        return read_all(target, wishes.members, console)
    if wishes.kafka:
        own = kafka_nodes(console, NODES if wishes.kill_node else 1)
    else:
        own = embedded_nodes(console)
    with own as brokers:
        load_flights(brokers, console)
        target = Target(brokers.bootstrap, TOPIC, wishes.group, flights.ROWS)
        if not wishes.kill_node:
            return read_all(target, wishes.members, console, brokers)
        console.print(
            f"the node that coordinates the group is killed half way; for that to be seen, members "
            f"read {PACE:,} records/s each at most",
            highlight=False,
            soft_wrap=True,
        )
        return read_all(target, wishes.members, console, brokers, kill_node=True)


def load_flights(brokers: Brokers, console: Console) -> None:
    """Write every flight into a fresh topic. Raises RefusalError."""
    try:
        from kcore.cli.demo import kafka_data  # noqa: PLC0415 (an extra's)
    except ModuleNotFoundError as missing:
        raise RefusalError(f"{missing.name} is missing: pip install 'kcore[demo]'") from missing

    rows: Iterable[tuple[bytes, bytes]] = flights.flights()
    if console.is_terminal:
        rows = track(
            rows,
            description="loading flights",
            total=flights.ROWS,
            console=console,
            transient=True,
        )
    began_s = time.monotonic()
    copies = len(brokers.node_ids)
    try:
        kafka_data.create_topic(brokers.bootstrap, TOPIC, PARTITIONS, copies)
        # Idempotent: a retry on a busy machine must not make one flight two.
        count = kafka_data.produce(brokers.bootstrap, TOPIC, rows, enable_idempotence="true")
    except kafka_data.KafkaDataError as why:
        raise RefusalError(str(why)) from why
    took_s = time.monotonic() - began_s
    console.print(
        f"{count:,} flights written to topic {TOPIC}: {PARTITIONS} partitions, "
        f"{copies} {'replica' if copies == 1 else 'replicas'}, in {took_s:.1f} s",
        highlight=False,
        soft_wrap=True,
    )


def read_all(
    target: Target,
    members: int,
    console: Console,
    brokers: Brokers | None = None,
    *,
    kill_node: bool = False,
) -> int:
    """Have the group read up to where the topic ends now; the exit code.

    brokers: those that are the demo's own; kill_node: one of them is killed on the way.
    """
    settings = {
        "bootstrap_servers": target.bootstrap.split(","),
        "group_id": target.group,
        "enable_auto_commit": False,
    }
    with Consumer(**settings) as watcher:  # it never joins: it only asks for offsets
        partitions = _partitions(watcher, target)
        ends = {part.partition: end for part, end in watcher.end_offsets(partitions).items()}
        board = Board(ends, members, brokers.node_ids if brokers is not None else ())
        outage = None
        if brokers is not None and kill_node:
            outage = Outage(brokers, lambda: _coordinator(target))
        elapsed_s = _watch(target, board, console, outage)
        committed = {part.partition: _committed(watcher, part) for part in partitions}
    wrong = board.shortfalls(committed, target.records)
    wrong += outage.shortfalls() if outage is not None else []
    wrong += brokers.faults() if brokers is not None else []
    return report(target, board, committed, elapsed_s, console, wrong)


def _coordinator(target: Target) -> int:
    from kcore.cli.demo import kafka_data  # noqa: PLC0415 (an extra's)

    return kafka_data.coordinator_of(target.bootstrap, target.group)


def _partitions(watcher: Consumer, target: Target) -> list[TopicPartition]:
    known = watcher.partitions_for_topic(target.topic)
    if not known:
        raise RefusalError(f"there is no topic {target.topic!r} at {target.bootstrap}")
    return [TopicPartition(target.topic, number) for number in sorted(known)]


def _committed(watcher: Consumer, partition: TopicPartition) -> int | None:
    found = watcher.committed(partition)
    return found if isinstance(found, int) else None


def _watch(target: Target, board: Board, console: Console, outage: Outage | None) -> float:
    """Run the members until the board is done; the seconds from first assignment to last commit.

    Raises RefusalError if a member fails or nothing moves for STALLED_S.
    """
    spec = {
        "bootstrap": target.bootstrap,
        "topic": target.topic,
        "group": target.group,
        "pace": PACE if outage is not None else None,
        "ends": {str(number): row.end for number, row in board.partitions.items()},
    }
    began_s: float | None = None
    moved_s = time.monotonic()
    with display(console) as shown, Members(len(board.members), spec) as said:
        while not board.done:
            heard = said.next(LISTEN_S)
            now_s = time.monotonic()
            if heard is not None:
                board.take(*heard)
                moved_s = now_s
                if began_s is None and heard[1]["said"] == "assigned":
                    began_s = now_s
            if outage is not None:
                outage.look(board)
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
    wrong: list[str],
) -> int:
    """Print the outcome; the exit code says whether it is complete. wrong: what is not, by line."""
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
    if not wrong:
        said = "nothing lost, nothing read twice, lag 0" if target.records else "lag 0"
        console.print(said, highlight=False)
    for text in wrong:
        console.print(f"[red]{text}", highlight=False, soft_wrap=True)
    return REFUSED if wrong else DONE
