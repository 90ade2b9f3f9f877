"""The assignor "sticky": who has had a task keeps it, as far as all get the same number of tasks.

    active     who had it; else who has its state as a standby; else the process that has least to
               do for its members, and of these the one with the fewest tasks
    standby    (of stateful parts) another process: the one that had the task, then those that were
               standby for it, then whoever has least to do

Members of one process share its disk: no process gets a task twice. Since Kafka 4.4 who says that
it has some of a task's state counts as a standby, after those that are, who has most of it first.
There are no warm-up tasks, and neither racks nor tags are looked at. Source: Java's
StickyTaskAssignor and ProcessState of Kafka 4.3 and 4.4; ties are broken as its maps and queues do
(`ordering.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from kcore.coordinator.ordering import PriorityQueue, hash_ordered
from kcore.coordinator.streams.configuring import Part
from kcore.coordinator.streams.member import NO_OFFSETS, Offsets, Task, Tasks
from kcore.tuples import NamedTuple


class Worker(NamedTuple):
    """A member: the process that it is a part of, the tasks that it had (its last target; since
    Kafka 4.4 what it has), and how far it is with tasks of whose state it has some.
    """

    process_id: str
    had: Tasks
    offsets: Offsets = NO_OFFSETS


class _Process:
    """The members of one process, and what they have been given."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}  # member -> tasks
        self.tasks: set[Task] = set()
        self._given = 0
        self._by_load: PriorityQueue[list[str]] | None = None
        self._queued: dict[str, int] = {}  # counts as the queue knows them

    @property
    def load(self) -> float:
        """Tasks for each member."""
        return self._given / len(self.counts)

    def give(self, member: str, task: Task) -> int:
        """How many tasks the member has then."""
        self._by_load = None
        return self._give(member, task)

    def give_to_least(self, task: Task) -> tuple[str, int]:
        """To the member with the fewest tasks."""
        if self._by_load is None:
            queued = self._queued = dict(self.counts)
            members = ([member] for member in hash_ordered(self.counts))
            self._by_load = PriorityQueue(members, lambda entry: queued[entry[0]])
        entry = self._by_load.poll()
        (member,) = entry
        count = self._queued[member] = self._give(member, task)
        self._by_load.add(entry)
        return member, count

    def _give(self, member: str, task: Task) -> int:
        self._given += 1
        self.tasks.add(task)
        self.counts[member] += 1
        return self.counts[member]


class _Quota:
    """How many tasks a member may have, as those are full that have that many."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.each = self._share()

    def given(self, count: int) -> None:
        """A member has this many now."""
        if count == self.each:
            self._members -= 1
            self._tasks -= count
            self.each = self._share()

    def _share(self) -> int:
        return -(-self._tasks // self._members) if self._members else 0


def assign(
    workers: Mapping[str, Worker],
    parts: Mapping[str, Part],
    standby_count: int,
    *,
    as_44: bool = False,
) -> dict[str, Tasks]:
    """Member -> what it is to have. workers: by member id, in the order in which they joined."""
    return _Assignment(workers, parts, standby_count, as_44=as_44).run()


class _Assignment:
    def __init__(
        self,
        workers: Mapping[str, Worker],
        parts: Mapping[str, Part],
        standby_count: int,
        *,
        as_44: bool,
    ) -> None:
        self._as_44 = as_44
        self._workers = {member: workers[member] for member in hash_ordered(workers)}
        self._parts = parts
        self._standby_count = standby_count
        active = sum(part.task_count for part in parts.values())
        stateful = sum(part.task_count for part in parts.values() if part.is_stateful)
        self._active_quota = _Quota(active, len(workers))
        self._quota = _Quota(active + stateful * standby_count, len(workers))
        self._processes: dict[str, _Process] = {}
        self._was_active: dict[Task, str] = {}
        candidates: dict[Task, list[tuple[int, int, str]]] = {}
        self._active: dict[str, set[Task]] = {member: set() for member in workers}
        self._standby: dict[str, set[Task]] = {member: set() for member in workers}
        for member, worker in self._workers.items():
            process = self._processes.setdefault(worker.process_id, _Process())
            process.counts[member] = 0
            self._was_active.update(dict.fromkeys(worker.had.active, member))
            for task in worker.had.standby:
                candidate = 0, -worker.offsets.get(task, 0), member
                candidates.setdefault(task, []).append(candidate)
            for task in worker.offsets.keys() - worker.had.standby:
                candidates.setdefault(task, []).append((1, -worker.offsets[task], member))
        # Who comes first, of those that have something of a task: ties by the order of members.
        self._was_standby = {
            task: [member for *_, member in sorted(found, key=lambda one: one[:2])]
            for task, found in candidates.items()
        }

    def run(self) -> dict[str, Tasks]:
        """Active tasks first."""
        self._assign_active(self._tasks(stateful=False))
        if self._standby_count > 0:
            self._assign_standby(self._tasks(stateful=True))
        return {
            member: Tasks(frozenset(self._active[member]), frozenset(self._standby[member]))
            for member in self._workers
        }

    def _tasks(self, *, stateful: bool) -> list[Task]:
        return [
            (name, number)
            for name, part in self._parts.items()
            if part.is_stateful or not stateful
            for number in range(part.task_count)
        ]

    def _process_of(self, member: str) -> _Process:
        return self._processes[self._workers[member].process_id]

    def _by_load(self) -> PriorityQueue[_Process]:
        order = hash_ordered(self._processes, len(self._workers), computed=self._as_44)
        return PriorityQueue((self._processes[one] for one in order), lambda one: one.load)

    # Active --------------------------------------------------------------------------------------

    def _assign_active(self, tasks: list[Task]) -> None:
        tasks.sort(key=lambda task: (task[1], task[0]))
        tasks = [task for task in tasks if not self._keep(task, self._was_active.get(task))]
        tasks = [task for task in tasks if not self._keep(task, self._least_loaded_standby(task))]
        processes = self._by_load()
        for task in sorted(tasks):
            process = processes.poll()
            member, count = process.give_to_least(task)
            self._give_active(member, task, count)
            processes.add(process)

    def _keep(self, task: Task, member: str | None) -> bool:
        """Let a member have a task that it has something of, if it may have as many."""
        if member is None or self._process_of(member).counts[member] >= self._active_quota.each:
            return False
        self._give_active(member, task, self._process_of(member).give(member, task))
        return True

    def _give_active(self, member: str, task: Task, count: int) -> None:
        self._active[member].add(task)
        self._active_quota.given(count)
        self._quota.given(count)

    def _least_loaded_standby(self, task: Task, *, free: bool = False) -> str | None:
        """Who was standby for a task and has least to do; free: in whose process it is not."""
        members = self._was_standby.get(task, [])
        # Until Kafka 4.3 there is nobody where the process of the first has it.
        if free and members and not self._as_44 and task in self._process_of(members[0]).tasks:
            return None
        found, load, count = None, math.inf, math.inf
        for member in members:
            process = self._process_of(member)
            if free and task in process.tasks:
                continue
            if found is None or (process.load < load and process.counts[member] < count):
                found, load, count = member, process.load, process.counts[member]
        return found

    # Standby -------------------------------------------------------------------------------------

    def _assign_standby(self, tasks: list[Task]) -> None:
        tasks.sort(key=lambda task: (task[1], task[0]), reverse=True)
        lacking: dict[Task, int] = {}
        for task in tasks:
            given = 0
            while given < self._standby_count and self._keep_standby(task):
                given += 1
            lacking[task] = self._standby_count - given
        processes = self._by_load()
        for task in sorted(lacking, reverse=True):
            for _ in range(lacking[task]):
                if not self._give_standby_to_least(processes, task):
                    break  # there are not as many processes

    def _keep_standby(self, task: Task) -> bool:
        """One more standby, who has something of the task."""
        member = self._was_active.get(task)
        if member is None or task in self._process_of(member).tasks or self._is_full(member):
            member = self._least_loaded_standby(task, free=True)
            if member is None or self._is_full(member):
                return False
        self._standby[member].add(task)
        self._quota.given(self._process_of(member).give(member, task))
        return True

    def _is_full(self, member: str) -> bool:
        return self._process_of(member).counts[member] >= self._quota.each

    def _give_standby_to_least(self, processes: PriorityQueue[_Process], task: Task) -> bool:
        passed = []
        found = False
        while processes and not found:
            process = processes.poll()
            passed.append(process)
            if task not in process.tasks:
                member, count = process.give_to_least(task)
                self._standby[member].add(task)
                self._quota.given(count)
                found = True
        for process in reversed(passed):  # the last one first, as Kafka's recursion has it
            processes.add(process)
        return found
