"""Who this member is, whichever protocol made it one: what requests are fenced by, what it owns and
since when, why a membership was lost, and whether a rejoin is due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kcore.errors import CommitFailedError, FencedInstanceIdError, KafkaError
from kcore.group.context import Context
from kcore.group.states import MemberState
from kcore.hints import TYPE_CHECKING, Final
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from kcore.group.consumer_states import ConsumerState

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
    """Written by the parts that talk to the coordinator; `on_drop(stalled)` follows each loss.

    `ClassicMembership` and `ConsumerMembership` (KIP-848) say what each loss means.
    """

    def __init__(self, ctx: Context, on_drop: Callable[[bool], None]) -> None:
        self._ctx = ctx
        self._on_drop = on_drop
        self.generation = Generation()
        self.subscribed = (
            False  # False: partitions are assigned by hand, the group only stores offsets
        )
        self.rejoin_reason: str | None = None  # not None: a rejoin was asked for
        self.fenced: KafkaError | None = None  # out for good (until unsubscribed), and why
        self.loss: Loss | None = None
        self.last_poll_ms: int | None = None
        self.last_heartbeat_ms: int | None = None
        # When each assigned partition was acquired: a count that goes up with each assignment. A
        # commit asked for under an older count is not for this member's present ownership. Made
        # anew by each assignment and never changed: commits hold on to the one they began under.
        self.acquired: dict[TopicPartition, int] = {}
        self._acquisitions = 0

    # -- what each protocol says of itself -----------------------------------------------------

    @property
    def state(self) -> MemberState | ConsumerState:
        """What the coordinator may think of this member."""
        raise NotImplementedError

    @property
    def public_state(self) -> str:
        """The same for the application: one of kcore.structs.MemberState."""
        raise NotImplementedError

    @property
    def managed(self) -> bool:
        """The group decides: subscribed, or unsubscribed and on the way out."""
        raise NotImplementedError

    @property
    def may_commit(self) -> bool:
        """Whether offsets of what is owned can be committed now."""
        raise NotImplementedError

    @property
    def asker(self) -> Generation | None:
        """Who asks for committed offsets; None: nobody in particular."""
        raise NotImplementedError

    @property
    def settled(self) -> bool:
        """A member with nothing to tell the coordinator, and nothing to hear from it but more of
        the same.
        """
        raise NotImplementedError

    @property
    def preparing(self) -> bool:
        """A JoinGroup is outstanding: the membership that was is over, the next is on its way."""
        raise NotImplementedError

    @property
    def rebalancing(self) -> bool:
        """Nothing can be committed, for no longer than a rebalance takes."""
        raise NotImplementedError

    def reset(
        self, why: str, now_ms: int, *, keep_member_id: bool = False, stalled: bool = False
    ) -> None:
        """The membership is gone; it can be had again. stalled: because no poll came in time."""
        raise NotImplementedError

    def fence(self, error: KafkaError, now_ms: int) -> None:
        """The membership is gone for good (until unsubscribed)."""
        raise NotImplementedError

    def release(self) -> None:
        """Left on purpose (E2)."""
        raise NotImplementedError

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

    # -- losses ---------------------------------------------------------------------------------

    def _note_loss(self, why: str, now_ms: int, session_timeout_ms: int | None) -> None:
        """Keep what a CommitFailedError will say. session_timeout_ms: None if only the broker knows
        it.
        """
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
        elif session_timeout_ms is not None and beat_gap_ms >= session_timeout_ms:
            timer, elapsed_ms = "session_timeout_ms", beat_gap_ms
            limit_ms = session_timeout_ms
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
            if loss.timer not in loss.why:
                text += (
                    f" {loss.elapsed_ms} ms passed without a poll, max_poll_interval_ms is"
                    f" {loss.limit_ms}: handle fewer records per poll (max_poll_records), or raise"
                    " it."
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
