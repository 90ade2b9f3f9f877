"""Membership by the classic protocol: JoinGroup, SyncGroup, generations."""

from __future__ import annotations

from collections.abc import Callable

from kcore.errors import KafkaError
from kcore.group.context import Context
from kcore.group.machine import Machine
from kcore.group.membership import Generation, Membership
from kcore.group.states import MEMBER_TABLE, MemberInput, MemberState
from kcore.hints import Final
from kcore.structs import MemberState as PublicState

_PUBLIC_STATES: Final = {
    MemberState.UNJOINED: PublicState.UNJOINED,
    MemberState.PREPARING: PublicState.REBALANCING,
    MemberState.COMPLETING: PublicState.REBALANCING,
    MemberState.STABLE: PublicState.STABLE,
    MemberState.FENCED: PublicState.UNJOINED,
}


class ClassicMembership(Membership):
    """See Membership."""

    def __init__(self, ctx: Context, on_drop: Callable[[bool], None]) -> None:
        super().__init__(ctx, on_drop)
        self._machine = Machine(MEMBER_TABLE, MemberState.UNJOINED)

    @property
    def state(self) -> MemberState:
        """See MemberState."""
        return self._machine.state

    @property
    def public_state(self) -> str:
        """See Membership."""
        return _PUBLIC_STATES[self.state]

    @property
    def managed(self) -> bool:
        """See Membership."""
        return self.subscribed or self.state is not MemberState.UNJOINED

    @property
    def may_commit(self) -> bool:
        """See Membership."""
        return self.state is MemberState.STABLE

    @property
    def asker(self) -> Generation | None:
        """See Membership."""
        return None

    @property
    def settled(self) -> bool:
        """See Membership."""
        return self.state is MemberState.STABLE and self.rejoin_reason is None

    @property
    def preparing(self) -> bool:
        """See Membership."""
        return self.state is MemberState.PREPARING

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

    # -- the ends ------------------------------------------------------------------------------

    def reset(
        self, why: str, now_ms: int, *, keep_member_id: bool = False, stalled: bool = False
    ) -> None:
        """The membership is gone: UNJOINED, no generation, rejoin (spec 3.1, "Reset")."""
        self._note_loss(why, now_ms, self._ctx.config.session_timeout_ms)
        self._move(MemberInput.RESET)
        member_id = self.generation.member_id if keep_member_id else ""
        self.generation = Generation(member_id=member_id)
        self.request_rejoin(why)
        self._on_drop(stalled)

    def fence(self, error: KafkaError, now_ms: int) -> None:
        """Another process took our group.instance.id over: out for good (until unsubscribed)."""
        self._note_loss(str(error), now_ms, self._ctx.config.session_timeout_ms)
        self._move(MemberInput.FENCED)
        self.generation = Generation()
        self.fenced = error

    def release(self) -> None:
        """See Membership."""
        self._move(MemberInput.RELEASED)
        self.generation = Generation()
        self.fenced = None
        self.rejoin_reason = None
