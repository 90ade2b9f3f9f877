"""Membership by the consumer protocol (KIP-848): the coordinator assigns, this side reconciles.

`generation` holds member id and member epoch; without a membership the epoch is that of no
generation, and the member id stays, as the coordinator may come to know it again.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Final

from kcore.errors import KafkaError
from kcore.group.consumer_states import CONSUMER_TABLE, ConsumerInput, ConsumerState
from kcore.group.context import Context
from kcore.group.machine import Machine
from kcore.group.membership import Generation, Membership
from kcore.structs import MemberState as PublicState

# A partition as heartbeats name it: topic id and number.
IdPartition = tuple[bytes, int]
Owned = frozenset[IdPartition]

_UUID_BITS: Final = 128
_ENDED: Final = (ConsumerState.UNSUBSCRIBED, ConsumerState.LEAVING)
_PUBLIC_STATES: Final = {
    ConsumerState.JOINING: PublicState.REBALANCING,
    ConsumerState.RECONCILING: PublicState.REBALANCING,
    ConsumerState.ACKNOWLEDGING: PublicState.REBALANCING,
    ConsumerState.STABLE: PublicState.STABLE,
}


class ConsumerMembership(Membership):
    """See Membership.

    target: what the coordinator wants this member to have, None until it says. owned: what the
    application has taken of it, None before the first time. count: goes up with each membership
    that begins or ends; what was asked under another count concerns nobody any more. named: the
    coordinator has heard of the member id.
    """

    def __init__(self, ctx: Context, on_drop: Callable[[bool], None]) -> None:
        super().__init__(ctx, on_drop)
        self._machine = Machine(CONSUMER_TABLE, ConsumerState.UNSUBSCRIBED)
        self.target: Owned | None = None
        self.owned: Owned | None = None
        self.count = 0
        self.named = False

    @property
    def state(self) -> ConsumerState:
        """See ConsumerState."""
        return self._machine.state

    @property
    def public_state(self) -> str:
        """See Membership."""
        return _PUBLIC_STATES.get(self.state, PublicState.UNJOINED)

    @property
    def managed(self) -> bool:
        """See Membership."""
        return self.subscribed or self.state not in _ENDED

    @property
    def may_commit(self) -> bool:
        """As long as there is an epoch, also while partitions move."""
        return self.generation.valid

    @property
    def asker(self) -> Generation | None:
        """See Membership."""
        return self.generation if self.generation.valid else None

    @property
    def settled(self) -> bool:
        """See Membership."""
        return self.state is ConsumerState.STABLE and self.rejoin_reason is None

    @property
    def preparing(self) -> bool:
        """There is no JoinGroup here."""
        return False

    @property
    def rebalancing(self) -> bool:
        """Rebalances hold up no commit here."""
        return False

    def move(self, what: ConsumerInput) -> None:
        """The one place that changes the state."""
        self._machine.move(what)

    def request_rejoin(self, reason: str) -> None:
        """Where there is no membership, the next poll begins one. A member cannot ask for a
        rebalance: the coordinator knows when there has to be one (Java ignores it as well).
        """
        if self.state in _ENDED:
            super().request_rejoin(reason)

    # -- coming in -----------------------------------------------------------------------------

    def join(self) -> None:
        """A heartbeat with epoch 0 is due; under a member id made here (KIP-1082)."""
        self.move(ConsumerInput.JOIN)
        self._end()
        self.rejoin_reason = None
        self.owned = self.target = None
        if not self.generation.member_id:
            self.generation = Generation(member_id=self._make_id())

    def _make_id(self) -> str:
        """As Java's Uuid writes itself: 22 characters, of which the first is no dash."""
        while True:
            number = self._ctx.rng.getrandbits(_UUID_BITS)
            text = urlsafe_b64encode(number.to_bytes(_UUID_BITS // 8, "big")).rstrip(b"=").decode()
            if not text.startswith("-"):
                return text

    def accepted(self, member_id: str, epoch: int) -> None:
        """A heartbeat was answered: the epoch, and on old brokers the member id, are these."""
        if self.generation.id != epoch or self.generation.member_id != member_id:
            self.generation = Generation(epoch, member_id)

    # -- the ends ------------------------------------------------------------------------------

    def reset(
        self, why: str, now_ms: int, *, keep_member_id: bool = False, stalled: bool = False
    ) -> None:
        """FENCED, or STALE; the member id is kept in any case."""
        del keep_member_id
        self._note_loss(why, now_ms, None)
        self.move(ConsumerInput.STALLED if stalled else ConsumerInput.FENCED)
        self._end()
        self._on_drop(stalled)

    def fence(self, error: KafkaError, now_ms: int) -> None:
        """FATAL: out for good (until unsubscribed)."""
        self._note_loss(str(error), now_ms, None)
        self.move(ConsumerInput.FATAL)
        self._end()
        self.fenced = error

    def prepare_leaving(self) -> None:
        """Unsubscribed or closed: the application is told, the coordinator when that is done."""
        self.move(ConsumerInput.LEAVE)

    def leave_sent(self) -> None:
        """The last heartbeat is on its way; `release` or `reset` follows."""
        if self.state is not ConsumerState.PREPARE_LEAVING:
            self.move(ConsumerInput.LEAVE)
        self.move(ConsumerInput.LEAVE_SENT)

    def left(self) -> None:
        """It was answered, or failed."""
        if self.state is ConsumerState.LEAVING:
            self.move(ConsumerInput.RELEASED)

    def release(self) -> None:
        """See Membership. Where the leave is on its way its answer is the end (`left`)."""
        if self.state is not ConsumerState.LEAVING:
            self.move(ConsumerInput.RELEASED)
        self._end()
        self.fenced = None
        self.rejoin_reason = None

    def _end(self) -> None:
        """No answer to anything asked before counts, and there is no epoch any more."""
        self.count += 1
        self.named = False
        self.generation = Generation(member_id=self.generation.member_id)
