"""Members of a group as simple machines, and a world in which everything happens to them by chance.

The actors know the protocol, not Kafka's client: they join, sync, send heartbeats, commit, leave,
go silent, lose their connection, and answer what they are told. The checkers of `Chaos` judge every
answer; `World.check` judges every state.
"""

from __future__ import annotations

import random
from typing import Any

from coordinator_world import World, of_journal

from kcore.coordinator.states import GroupState
from kcore.wire.codes import ErrorCode as E
from kcore.wire.messages import (
    DeleteGroupsRequest,
    GroupMetadataKey,
    HeartbeatRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitKey,
)

LOST = {E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION}
APPEND_ERRORS = [E.NOT_ENOUGH_REPLICAS, E.REQUEST_TIMED_OUT, E.MESSAGE_TOO_LARGE]


class Actor:
    """One member: what it knows of itself, and the one request it waits for."""

    def __init__(self, chaos: Chaos, name: str, instance: str | None, version: int) -> None:
        self.chaos = chaos
        self.world = chaos.world
        self.name = name
        self.instance = instance
        self.version = version
        self.member_id = ""
        self.generation = -1
        self.leads: list[str] | None = None  # whom it is to assign to
        self.protocol: str | None = None
        self.assigned: bytes | None = None
        self.waits: tuple[str, int] | None = None
        self.links = 0
        self.flavour = 0  # of its metadata
        self.silent = False
        self.must_join = True

    @property
    def link(self) -> tuple[str, int]:
        return (self.name, self.links)

    @property
    def identity(self) -> str:
        return self.instance or self.member_id

    def step(self) -> None:
        """Do what a member does next."""
        if self.waits is not None or self.silent:
            return
        if self.must_join:
            self.join()
        elif self.assigned is None:
            self.sync()
        else:
            self.heartbeat()

    def join(self) -> None:
        protocols = [("range", b"%d" % self.flavour), ("sticky", b"s")]
        token = self.world.join(
            self.member_id,
            version=self.version,
            instance=self.instance,
            st=6_000,
            rt=self.chaos.rebalance_timeout_ms,
            protocols=protocols,
            link=self.link,
        )
        self._await("join", token)

    def sync(self) -> None:
        assignments = {x: self.chaos.share(self.generation, x) for x in self.leads or ()}
        token = self.world.sync(
            self.member_id,
            self.generation,
            assignments,
            instance=self.instance,
            protocol_name=self.protocol,
            link=self.link,
        )
        self._await("sync", token)

    def heartbeat(self) -> None:
        request = HeartbeatRequest(
            group_id="g",
            member_id=self.member_id,
            generation_id=self.generation,
            group_instance_id=self.instance,
        )
        self._await("heartbeat", self.world.send(request, 4, link=self.link))

    def commit(self, offset: int) -> None:
        if self.assigned is None or self.waits is not None:
            return
        token = self.world.commit(
            {("t", 0): offset}, self.member_id, self.generation, instance=self.instance
        )
        self.chaos.loose.add(token)

    def leave(self) -> None:
        entry = LeaveGroupRequest.MemberIdentity(
            member_id=self.member_id, group_instance_id=self.instance
        )
        request = LeaveGroupRequest(group_id="g", members=[entry])
        self.chaos.loose.add(self.world.send(request, 5))
        self.cut()
        self.forget()

    def cut(self) -> None:
        """Its connection is gone, and with it the answer it waits for."""
        self.world.coordinator.handle_closed(self.link)
        self.links += 1
        self.waits = None
        self.must_join = True

    def forget(self) -> None:
        """A new process."""
        self.member_id, self.generation, self.assigned, self.leads = "", -1, None, None
        self.must_join = True

    def take_answers(self) -> None:
        while self.waits is not None and self.waits[1] in self.world.replies:
            kind, token = self.waits
            self.waits = None
            answer = self.world.replies[token]
            if kind == "join":
                self._joined(answer)
            elif kind == "heartbeat":
                self._told(answer.error_code)
            else:
                self._synced(answer)

    def _await(self, kind: str, token: int) -> None:
        self.waits = (kind, token)
        self.take_answers()

    def _joined(self, answer: Any) -> None:
        if answer.error_code == E.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif answer.error_code:
            self._told(answer.error_code)
        else:
            self.member_id, self.generation = answer.member_id, answer.generation_id
            leads = answer.leader == answer.member_id and not answer.skip_assignment
            self.leads = [x.member_id for x in answer.members] if leads else None
            self.protocol = answer.protocol_name
            self.assigned = None
            self.must_join = False

    def _synced(self, answer: Any) -> None:
        if answer.error_code:
            self._told(answer.error_code)
            self.must_join = True
        else:
            self.chaos.judge_sync(self, answer)
            self.assigned = answer.assignment

    def _told(self, code: int) -> None:
        if code == E.FENCED_INSTANCE_ID:
            self.forget()
        elif code in LOST:
            self.must_join, self.assigned = True, None
            if code == E.UNKNOWN_MEMBER_ID:
                self.forget()
        elif code:
            self.must_join, self.assigned = True, None


class Chaos:
    """Actors, a clock, a journal that may fail or lag, and what must always hold."""

    def __init__(self, seed: int, *, size: int = 5) -> None:
        self.rng = random.Random(seed)
        self.rebalance_timeout_ms = self.rng.choice([0, 3_000, 8_000])
        self.world = World(
            appending=self.rng.random() < 0.5,
            immediate=self.rng.random() < 0.2,
            seed=seed,
            group_initial_rebalance_delay_ms=self.rng.choice([0, 500, 3_000]),
            group_max_size=self.rng.choice([3, 100]),
            offsets_retention_minutes=self.rng.choice([1, 10_080]),
            offsets_retention_check_interval_ms=10_000,
        )
        self.read = 0  # of the journal
        self.life = 0  # how often the coordinator was killed, or the group ended
        self.leaders: dict[tuple[int, int], set[str]] = {}  # by life and generation
        self.highest: dict[int, int] = {}
        self.shares: dict[tuple[int, int, str], bytes] = {}
        self.loose: set[int] = set()  # requests on connections of their own
        self.actors = [
            Actor(
                self,
                f"a{i}",
                f"i{i}" if self.rng.random() < 0.4 else None,
                self.rng.choice([5, 8, 9]),
            )
            for i in range(size)
        ]
        self.kinds: list[Any] = [Actor.step] * 100 + [self.pause] * 36 + [self.append] * 24
        self.kinds += [self.commit] * 12 + [Actor.cut] * 6 + [self.change] * 6
        self.kinds += [Actor.leave] * 4 + [self.silence] * 4 + [self.restart] * 4
        self.kinds += [self.long_pause] + [self.kill] * 2 + [self.delete]
        self.world.on_reply = self.judge_reply  # type: ignore[method-assign]

    # Judges --------------------------------------------------------------------------------------

    def share(self, generation: int, member_id: str) -> bytes:
        group = self.world.coordinator.group("g")
        member = None if group is None else group.members.get(member_id)
        who = member_id if member is None else member.instance_id or member_id
        return f"{generation}/{who}".encode()

    def judge_reply(self, token: Any, answer: Any) -> None:
        """Every answer at the time it is given."""
        self._read_journal()
        if not isinstance(answer, JoinGroupResponse) or answer.error_code:
            return
        asked = self.world.requests[token]
        generation = answer.generation_id
        assert generation >= 1
        assert generation >= self.highest.get(self.life, 0), "a generation went back"
        self.highest[self.life] = generation
        assert asked.member_id in ("", answer.member_id)
        if answer.members:
            assert answer.leader == answer.member_id
            led = self.leaders.setdefault((self.life, generation), set())
            led.add(asked.group_instance_id or answer.member_id)
            assert len(led) == 1, "two leaders in a generation"
            ids = [x.member_id for x in answer.members]
            assert answer.member_id in ids
            assert len(set(ids)) == len(ids)

    def _read_journal(self) -> None:
        for item in of_journal(self.world.journal[self.read :]):
            if isinstance(item, tuple) and isinstance(item[0], GroupMetadataKey):
                self.life += item[1] is None  # the group ended: its generations begin anew
        self.read = len(self.world.journal)

    def judge_sync(self, actor: Actor, answer: Any) -> None:
        if answer.assignment:
            expected = f"{actor.generation}/{actor.identity}".encode()
            assert answer.assignment == expected, "somebody else's, or another generation's"
        key = (self.life, actor.generation, actor.identity)
        assert self.shares.setdefault(key, answer.assignment) == answer.assignment

    def judge(self) -> None:
        """After every step."""
        waiting = sum(actor.waits is not None for actor in self.actors)
        loose = sum(token not in self.world.replies for token in self.loose)
        assert self.world.coordinator.parked == waiting + loose, "a request got lost"

    def judge_journal(self) -> None:
        """Generations of a group never go down, until it ends."""
        generation = 0
        for item in of_journal(self.world.journal):
            if isinstance(item, tuple) and isinstance(item[0], GroupMetadataKey):
                now = 0 if item[1] is None else item[1].generation
                assert item[1] is None or now >= generation
                generation = now

    # What happens --------------------------------------------------------------------------------

    def step(self) -> None:
        """One thing happens, to somebody."""
        self.rng.choice(self.kinds)(self.rng.choice(self.actors))
        self.after_step()

    def pause(self, _actor: Actor) -> None:
        self.world.after(self.rng.choice([0, 1, 100, 1_000, 3_000]))

    def long_pause(self, _actor: Actor) -> None:
        self.world.after(self.rng.choice([20_000, 70_000]))

    def delete(self, _actor: Actor) -> None:
        self.loose.add(self.world.send(DeleteGroupsRequest(groups_names=["g"]), 2))

    def append(self, _actor: Actor) -> None:
        error = self.rng.choice(APPEND_ERRORS) if self.rng.random() < 0.2 else E.NONE
        self.world.settle(error, count=1)

    def commit(self, actor: Actor) -> None:
        actor.commit(self.rng.randrange(1_000))

    def change(self, actor: Actor) -> None:
        actor.flavour += 1
        actor.must_join = True

    def silence(self, actor: Actor) -> None:
        actor.silent = not actor.silent

    def restart(self, actor: Actor) -> None:
        actor.cut()
        actor.forget()

    def after_step(self) -> None:
        for actor in self.actors:
            actor.take_answers()
        self.world.check()
        self.judge()

    def kill(self, _actor: Actor) -> None:
        """The node dies with everything that is not in the journal; another one takes over."""
        world = self.world
        world.waiting.clear()
        for actor in self.actors:
            actor.links += 1
            if actor.waits is not None:
                actor.waits = None
                actor.must_join = True
        self.loose &= set(world.replies)
        world.coordinator = world.make(self.rng.randrange(1 << 30))
        world.lead()
        self.life += 1

    def heal(self) -> None:
        """No more faults: within a bound everybody is in, and holds its own share."""
        world = self.world
        world.appending = True
        world.settle()
        self.rebalance_timeout_ms = 3_000  # without any time nobody gets anywhere
        for actor in self.actors:
            actor.silent = False
        room = min(len(self.actors), world.config.group_max_size)
        for _ in range(400):
            for actor in self.actors:
                actor.step()
                self.after_step()
            world.after(250)
            self.after_step()
            if self._settled(room):
                return
        raise AssertionError(f"did not settle: {world.group.state}, {world.group.members}")

    def _settled(self, room: int) -> bool:
        group = self.world.coordinator.group("g")
        if group is None or group.state is not GroupState.STABLE or len(group.members) < room:
            return False
        inside = [x for x in self.actors if x.member_id in group.members and x.assigned is not None]
        return len(inside) == len(group.members) and all(
            x.generation == group.generation and x.assigned == self.share(x.generation, x.member_id)
            for x in inside
        )


def offsets_of(journal: list[Any]) -> dict[tuple[str, str, int], int]:
    """What an independent reader of the journal takes for committed (no transactions)."""
    found: dict[tuple[str, str, int], int] = {}
    for item in of_journal(journal):
        if isinstance(item, tuple) and isinstance(item[0], OffsetCommitKey):
            key, value = item
            if value is None:
                found.pop((key.group, key.topic, key.partition), None)
            else:
                found[key.group, key.topic, key.partition] = value.offset
    return found


def live(seed: int, *, size: int = 5) -> None:
    """One life: everything by chance, then no more faults, then it settles."""
    chaos = Chaos(seed, size=size)
    for _ in range(250):
        chaos.step()
    chaos.heal()
    chaos.judge_journal()
    found = {("g", *tp): offset for tp, (offset, _) in chaos.world.fetch().items()}
    assert found == offsets_of(chaos.world.journal)
