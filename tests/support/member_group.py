"""A group of member processes under test, and what they must have seen together.

What is proven is kept by `Sessions`: each member's hold on each partition, from assigned to
revoked, lost, left or killed, with what it read and committed meanwhile.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

SCRIPT = Path(__file__).with_name("group_member.py")
LEAVE_S = 15.0
CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass
class Session:
    """One member's hold on one partition: what it read, in order, and how far it committed."""

    member: int
    partition: int
    number: int  # in the order in which they began
    runs: list[tuple[int, int, int]] = field(default_factory=list)  # first, last, count
    committed: int | None = None
    in_doubt: bool = False  # its last commits may have arrived without an answer

    @property
    def first(self) -> int:
        return self.runs[0][0]

    @property
    def behind(self) -> int:
        """The offset behind what it read."""
        return self.runs[-1][1] + 1

    @property
    def count(self) -> int:
        return sum(count for _, _, count in self.runs)

    def ends(self) -> set[int]:
        """The offsets that its next reader may begin at.

        It commits after each run; of those that were not answered, any may be the last to arrive.
        """
        if self.in_doubt:
            return {last + 1 for _, last, _ in self.runs if last + 1 >= (self.committed or 0)}
        return {self.committed} if self.committed is not None else set()

    def check_whole(self) -> None:
        """It read without a gap and nothing twice."""
        for before, after in itertools.pairwise(self.runs):
            assert after[0] == before[1] + 1, (self.partition, before, after)
        assert self.count == self.behind - self.first


class Sessions:
    """What every member said, sorted into holds. Not for topics with gaps in their offsets."""

    def __init__(self) -> None:
        self.all: list[Session] = []
        self._open: dict[tuple[int, int], Session] = {}

    def take(self, member: int, message: dict) -> None:
        """Take in what a member said; a read of what it does not hold is an error."""
        match message["said"]:
            case "assigned":
                for partition in message["partitions"]:
                    self._begin(member, partition)
            case "revoked" | "lost":
                self._end(member, message["partitions"])
            case "read":
                for partition, first, last, count in message["runs"]:
                    self._open[member, partition].runs.append((first, last, count))
            case "committed":
                for partition, offset in message["offsets"].items():
                    self._open[member, int(partition)].committed = offset
            case "refused":
                self._doubt(member)
            case "left" | "failed":
                self._end(member, self.held(member))

    def killed(self, member: int) -> None:
        """It is gone without a word."""
        self._doubt(member)
        self._end(member, self.held(member))

    def _doubt(self, member: int) -> None:
        for partition in self.held(member):
            self._open[member, partition].in_doubt = True

    def _end(self, member: int, partitions: Iterable[int]) -> None:
        for partition in partitions:
            self._open.pop((member, partition), None)

    def _begin(self, member: int, partition: int) -> None:
        if (member, partition) not in self._open:
            session = Session(member, partition, len(self.all))
            self.all.append(session)
            self._open[member, partition] = session

    def held(self, member: int) -> set[int]:
        """Partitions that this member holds now."""
        return {partition for owner, partition in self._open if owner == member}

    def reached(self) -> dict[int, int]:
        """Partition -> the offset that somebody has read up to."""
        found: dict[int, int] = {}
        for session in self.all:
            if session.runs:
                found[session.partition] = max(found.get(session.partition, 0), session.behind)
        return found

    def doubtful(self, ends: Mapping[int, int]) -> list[Session]:
        """Of these partitions those holds that read up to the end, and nobody heard more: whether
        their last commits arrived only the broker knows.
        """
        last = {session.partition: session for session in self.all if session.runs}
        return [
            session
            for partition, session in last.items()
            if session.in_doubt and session.behind == ends.get(partition)
        ]

    def _story(self, partition: int) -> str:
        holds = (session for session in self.all if session.partition == partition)
        return "\n".join([f"partition {partition}, one hold after the other:", *map(str, holds)])

    def count(self) -> int:
        """Records read, again and again counted again."""
        return sum(session.count for session in self.all)

    def check(self, ends: dict[int, int]) -> None:
        """Nothing lost, and nothing read again that was committed.

        Every hold reads without a gap and begins where the one before it committed; the last one
        is committed up to the end. Two exceptions: of a member that was killed, or refused, nobody
        knows which of its last commits arrived before; and who keeps a partition over a rebalance
        reads on where it was.
        """
        for partition, end in ends.items():
            committed, before = 0, None
            for session in (each for each in self.all if each.partition == partition):
                if session.runs:
                    starts = {committed}
                    if before is not None:
                        starts |= before.ends()
                        if before.member == session.member:
                            starts.add(before.behind)
                    assert session.first in starts, self._story(partition)
                    session.check_whole()
                    before = session
                if session.committed is not None:
                    assert session.committed >= committed
                    committed = session.committed
            assert committed == end, (partition, committed, end)


class GroupOfMembers:
    """Starts, hears and ends members; `sessions` is what they said so far."""

    def __init__(self, bootstrap: str, topic: str, group: str, log_folder: Path) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        self.group = group
        self.sessions = Sessions()
        self.messages: list[tuple[int, dict]] = []
        self._log_folder = log_folder
        self._processes: list[subprocess.Popen[str]] = []
        self._threads: list[threading.Thread] = []
        self._heard = threading.Condition()
        self._error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def taken_away(self, member: int) -> list[int]:
        """Partitions that a member was told to give up."""
        return sorted(
            partition
            for number, said in self.messages
            if number == member and said["said"] in ("revoked", "lost")
            for partition in said["partitions"]
        )

    def share_by_three(self, partitions: int, *makes: tuple[str, dict]) -> list[int]:
        """Three members come one by one, each (client, options); of every one that is there no more
        is taken than has to move.
        """
        members: list[int] = []
        for client, options in makes:
            members.append(self.add(client, **options))
            self.wait_shared(members, partitions)
            if len(members) == 1:
                self.wait(lambda: len(self.sessions.reached()) == partitions)
            elif len(members) == 2:
                given_up = self.taken_away(members[0])
                assert len(given_up) == partitions // 2
                assert set(given_up) == self.sessions.held(members[1])
        one, other, _ = members
        assert len(self.taken_away(one)) == partitions // 2 + 1
        assert len(self.taken_away(other)) == 1
        return members

    def add(
        self, client: str = "kcore", *, max_records: int = 500, handler_s: float = 0.0, **options
    ) -> int:
        """Start a member; its number."""
        number = len(self._processes)
        spec = {
            "client": client,
            "topic": self.topic,
            "options": self._options(client, options) | options,
            "max_records": max_records,
            "handler_s": handler_s,
        }
        with self.log(number).open("w") as log:
            process = subprocess.Popen(
                [sys.executable, str(SCRIPT), json.dumps(spec)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._processes.append(process)
        thread = threading.Thread(target=self._listen, args=(number, process), daemon=True)
        thread.start()
        self._threads.append(thread)
        return number

    def _options(self, client: str, given: dict) -> dict:
        if client == "confluent":
            options = {
                "bootstrap.servers": self.bootstrap,
                "group.id": self.group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
            classic = {
                "partition.assignment.strategy": "range",
                "heartbeat.interval.ms": 500,
                "session.timeout.ms": 10_000,
            }
            return options if "group.protocol" in given else options | classic
        options = {
            "bootstrap_servers": self.bootstrap.split(","),
            "group_id": self.group,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
        }
        classic = {"heartbeat_interval_ms": 500, "session_timeout_ms": 10_000}
        return options if "group_protocol" in given else options | classic

    def log(self, member: int) -> Path:
        """The file that a member's standard error goes to."""
        return self._log_folder / f"member-{member}.log"

    def pid(self, member: int) -> int:
        return self._processes[member].pid

    def cpu_s(self, member: int) -> float:
        """Processor seconds that a member has used so far."""
        fields = Path(f"/proc/{self.pid(member)}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS_PER_S

    def wait(self, done: Callable[[], bool], timeout_s: float = 45.0) -> None:
        """Wait until `done()`, looked at whenever a member says something."""
        deadline_s = time.monotonic() + timeout_s
        with self._heard:
            while not done():
                if self._error is not None:
                    raise self._error
                failed = [message for _, message in self.messages if message["said"] == "failed"]
                assert not failed, failed
                left_s = deadline_s - time.monotonic()
                assert left_s > 0, self._picture()
                self._heard.wait(min(left_s, 0.5))

    def wait_shared(self, members: list[int], partitions: int, timeout_s: float = 45.0) -> None:
        """Wait until these members hold all partitions between them, evenly and none twice."""

        def shared() -> bool:
            held = [self.sessions.held(member) for member in members]
            sizes = [len(part) for part in held]
            whole = set().union(*held) == set(range(partitions)) and sum(sizes) == partitions
            return whole and max(sizes) - min(sizes) <= 1

        self.wait(shared, timeout_s)

    def wait_read(
        self,
        ends: Callable[[], dict[int, int]],
        timeout_s: float = 45.0,
        kept: Callable[[], dict[int, int]] | None = None,
    ) -> None:
        """Wait until everything up to `ends()` was read and committed.

        kept: what the broker says is committed. It is asked where nobody else can tell: a member
        that was killed had read to the end.
        """

        def read() -> bool:
            wanted = {p: end for p, end in ends().items() if end}
            committed = self._committed()
            short = {p for p, end in wanted.items() if committed.get(p) != end}
            doubtful = [one for one in self.sessions.doubtful(wanted) if one.partition in short]
            if kept is None or not doubtful or len(doubtful) < len(short):
                return not short
            found = kept()
            for session in doubtful:
                if found.get(session.partition) == session.behind:
                    session.committed = session.behind
            return self._committed() == wanted

        self.wait(read, timeout_s)

    def _committed(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for session in self.sessions.all:
            if session.committed is not None:
                found[session.partition] = max(found.get(session.partition, 0), session.committed)
        return found

    def _picture(self) -> str:
        lines = [f"{member}: {message}" for member, message in self.messages[-30:]]
        for member in range(len(self._processes)):
            lines += [f"--- member {member}", *self.log(member).read_text().splitlines()[-15:]]
        return "\n".join(["the members did not get there; the last they said:", *lines])

    def kill(self, member: int) -> None:
        """Kill -9 a member."""
        self._processes[member].kill()
        self._processes[member].wait()
        self._threads[member].join()
        with self._heard:
            self.sessions.killed(member)

    def leave(self, member: int) -> None:
        """Let a member leave in order, and wait for it."""
        process = self._processes[member]
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            code = process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"member {member} does not leave\n{self._picture()}") from None
        self._threads[member].join()
        assert code == 0, self._picture()

    def stop(self) -> None:
        """End all of them, one way or the other."""
        for process in self._processes:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        deadline_s = time.monotonic() + LEAVE_S
        for process, thread in zip(self._processes, self._threads, strict=True):
            try:
                process.wait(max(0.1, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            thread.join()

    def _listen(self, number: int, process: subprocess.Popen[str]) -> None:
        with process.stdout:
            for line in process.stdout:
                if not line.endswith("\n"):
                    continue  # killed in the middle of a word
                message = json.loads(line)
                with self._heard:
                    self.messages.append((number, message))
                    try:
                        self.sessions.take(number, message)
                    except Exception as error:  # noqa: BLE001 (raised by whoever waits)
                        self._error = self._error or error
                    self._heard.notify_all()
