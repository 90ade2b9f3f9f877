"""Who this member is: state, generation and member id, why they were lost, and whether a rejoin is
due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from kcore.errors import CommitFailedError, FencedInstanceIdError
from kcore.group.context import Context
from kcore.group.machine import Machine
from kcore.group.states import MEMBER_TABLE, MemberInput, MemberState
from kcore.structs import TopicPartition

NO_GENERATION_ID: Final = -1


class Generation(NamedTuple):
    """What requests are fenced by. Without a membership: (-1, "" or an id to come back under,
    None).
    """

    id: int = NO_GENERATION_ID
    member_id: str = ""
    protocol: str | None = None

    @property
    def valid(self) -> bool:
        """Whether this is a generation of the group."""
        return self.id != NO_GENERATION_ID and self.member_id != ""


class Loss(NamedTuple):
    """How the last membership ended; `timer` is the option that ran out, if one did."""

    why: str
    timer: str | None
    elapsed_ms: int
    limit_ms: int
    generation: Generation


class Membership:
    """Written by the parts that talk to the coordinator; `on_drop(stalled)` follows each loss."""

    def __init__(self, ctx: Context, on_drop: Callable[[bool], None]) -> None:
        self._ctx = ctx
        self._on_drop = on_drop
        self._machine = Machine(MEMBER_TABLE, MemberState.UNJOINED)
        self.generation = Generation()
        self.subscribed = (
            False  # False: partitions are assigned by hand, the group only stores offsets
        )
        self.rejoin_reason: str | None = None  # not None: a rejoin was asked for
        self.fenced: FencedInstanceIdError | None = None
        self.loss: Loss | None = None
        self.last_poll_ms: int | None = None
        self.last_heartbeat_ms: int | None = None
        # When each assigned partition was acquired: a count that goes up with each assignment. A
        # commit asked for under an older count is not for this member's present ownership. Made
        # anew by each assignment and never changed: commits hold on to the one they began under.
        self.acquired: dict[TopicPartition, int] = {}
        self._acquisitions = 0

    @property
    def state(self) -> MemberState:
        """See MemberState."""
        return self._machine.state

    @property
    def managed(self) -> bool:
        """The group decides: subscribed, or unsubscribed and on the way out."""
        return self.subscribed or self.state is not MemberState.UNJOINED

    @property
    def rebalancing(self) -> bool:
        """A JoinGroup or SyncGroup is outstanding."""
        return self.state in (MemberState.PREPARING, MemberState.COMPLETING)

    def _move(self, what: MemberInput) -> None:
        """The one place that changes the state."""
        self._machine.move(what)

    # -- a round -------------------------------------------------------------------------------

    def join_sent(self) -> None:
        """JoinGroup was written."""
        self._move(MemberInput.JOIN_SENT)

    def join_accepted(self, generation: Generation) -> None:
        """JoinGroup answered: heartbeats and Sync carry this generation from now on."""
        self._move(MemberInput.JOIN_ACCEPTED)
        self.generation = generation

    def sync_accepted(self) -> None:
        """SyncGroup answered: a member of the generation, no rejoin due."""
        self._move(MemberInput.SYNC_ACCEPTED)
        self.rejoin_reason = None
        self.loss = None

    def name(self, member_id: str) -> None:
        """MEMBER_ID_REQUIRED gave us the id to join under (KIP-394)."""
        self.generation = Generation(member_id=member_id)

    def request_rejoin(self, reason: str) -> None:
        """A rebalance is needed; the first reason is kept, as it is the cause of the others."""
        if self.subscribed and self.rejoin_reason is None:
            self.rejoin_reason = reason

    # -- ownership -----------------------------------------------------------------------------

    def acquire(self, partitions: Iterable[TopicPartition]) -> None:
        """Note a new assignment; what was in the old one keeps its count."""
        self._acquisitions += 1
        stamp = self._acquisitions
        self.acquired = {tp: self.acquired.get(tp, stamp) for tp in partitions}

    # -- the ends ------------------------------------------------------------------------------

    def reset(
        self, why: str, now_ms: int, *, keep_member_id: bool = False, stalled: bool = False
    ) -> None:
        """The membership is gone: UNJOINED, no generation, rejoin (spec 3.1, "Reset")."""
        self._note_loss(why, now_ms)
        self._move(MemberInput.RESET)
        member_id = self.generation.member_id if keep_member_id else ""
        self.generation = Generation(member_id=member_id)
        self.request_rejoin(why)
        self._on_drop(stalled)

    def fence(self, error: FencedInstanceIdError, now_ms: int) -> None:
        """Another process took our group.instance.id over: out for good (until unsubscribed)."""
        self._note_loss(str(error), now_ms)
        self._move(MemberInput.FENCED)
        self.generation = Generation()
        self.fenced = error

    def release(self) -> None:
        """Left on purpose (E2)."""
        self._move(MemberInput.RELEASED)
        self.generation = Generation()
        self.fenced = None
        self.rejoin_reason = None

    def _note_loss(self, why: str, now_ms: int) -> None:
        if not self.generation.valid:
            return
        config = self._ctx.config
        timer, elapsed_ms, limit_ms = None, 0, 0
        poll_gap_ms = now_ms - (self.last_poll_ms if self.last_poll_ms is not None else now_ms)
        beat_gap_ms = now_ms - (
            self.last_heartbeat_ms if self.last_heartbeat_ms is not None else now_ms
        )
        if poll_gap_ms >= config.max_poll_interval_ms:
            timer, elapsed_ms = "max_poll_interval_ms", poll_gap_ms
            limit_ms = config.max_poll_interval_ms
        elif beat_gap_ms >= config.session_timeout_ms:
            timer, elapsed_ms = "session_timeout_ms", beat_gap_ms
            limit_ms = config.session_timeout_ms
        self.loss = Loss(why, timer, elapsed_ms, limit_ms, self.generation)

    def commit_failed(
        self, partitions: Iterable[TopicPartition], generation: Generation, cause: str
    ) -> CommitFailedError:
        """Why a commit cannot be made: what ran out, by how much, for which partitions (PAINS
        8).
        """
        wanted = frozenset(partitions)
        named = ", ".join(f"{tp.topic}-{tp.partition}" for tp in sorted(wanted)[:8])
        if len(wanted) > 8:
            named += f" and {len(wanted) - 8} more"
        loss = self.loss
        member = loss.generation if loss is not None else generation
        text = (
            f"the commit of {named} was not made: member {member.member_id!r} of group"
            f" {self._ctx.config.group_id!r}, generation {member.id}, does not own them any more"
            f" ({cause if loss is None else loss.why})."
        )
        timer, elapsed_ms = (loss.timer, loss.elapsed_ms) if loss is not None else (None, None)
        if loss is not None and loss.timer == "max_poll_interval_ms":
            text += (
                f" {loss.elapsed_ms} ms passed without a poll, max_poll_interval_ms is"
                f" {loss.limit_ms}: handle fewer records per poll (max_poll_records) or raise it."
            )
        elif loss is not None and loss.timer == "session_timeout_ms":
            text += (
                f" No heartbeat was answered for {loss.elapsed_ms} ms, session_timeout_ms is"
                f" {loss.limit_ms}."
            )
        return CommitFailedError(
            text + " Others may read these records again from the last commit; poll joins again.",
            timer=timer,
            elapsed_ms=elapsed_ms if timer else None,
            partitions=wanted,
            generation=member.id,
        )


def instance_fenced(group_instance_id: str | None) -> FencedInstanceIdError:
    """FENCED_INSTANCE_ID with what to do about it."""
    return FencedInstanceIdError(
        f"another consumer joined with group_instance_id {group_instance_id!r}; each running"
        " consumer needs its own. This one is out of the group until it is unsubscribed or closed"
    )
