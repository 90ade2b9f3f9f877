"""A producer's transactions: what has to be asked for them (KIP-98).

One thing is asked at a time, by the order below; `_next` says which, from what is known, so that
whatever was lost on its way is asked again.

    FindCoordinator             as long as whoever is to be asked is not known
    InitProducerId              while INITIALIZING
    AddPartitionsToTxn          partitions with batches that are not part of the transaction yet
    AddOffsetsToTxn             a group whose offsets are to be committed, likewise
    TxnOffsetCommit             to the group's coordinator
    EndTxn                      when every batch is over, and something may be in the transaction
    InitProducerId once more    where the epoch is not worth keeping (KIP-360)

With `transaction.version` 2 (KIP-890) the two in the middle are left out, and so is the last one:
EndTxn gives an epoch to each transaction. The first such transaction behind others begins with an
InitProducerId, which gives it one.

The verbs are in `transaction_verbs.py`; what each answer does is in `transaction_effects.py`.
Source: Java's TransactionManager.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kcore.connection.backoff import exponential
from kcore.connection.calls import Answer, Reach
from kcore.enums import Enum
from kcore.errors import (
    CommitFailedError,
    ConcurrentTransactionsError,
    KafkaError,
    ProducerFencedError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kcore.produce import transaction_requests as requests
from kcore.produce.transaction_effects import (
    FENCED_HINT,
    OUTDATED,
    Effect,
    effect_of,
    error_of,
    hint_of,
)
from kcore.produce.transaction_states import TxnInput, TxnState
from kcore.produce.transaction_verbs import TransactionVerbs
from kcore.structs import TopicPartition
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import AddOffsetsToTxnRequest, EndTxnRequest

# The last transaction is over in a moment: its markers are being written (Java: 20 ms, too).
_MARKERS_MS: Final = 20


class Step(Enum):
    """What is to be asked next."""

    INIT = ApiKey.INIT_PRODUCER_ID
    ADD_PARTITIONS = ApiKey.ADD_PARTITIONS_TO_TXN
    ADD_OFFSETS = ApiKey.ADD_OFFSETS_TO_TXN
    COMMIT_OFFSETS = ApiKey.TXN_OFFSET_COMMIT
    END = ApiKey.END_TXN
    COMPLETE = "nothing: the transaction is over"


class Transaction(TransactionVerbs):
    """See the module's text. What it is made with: TransactionVerbs."""

    # -- time --------------------------------------------------------------------------------------

    def handle_tick(self, now_ms: int) -> None:
        """Ask what is to be asked."""
        if self._asking or now_ms < self._retry_at:
            return
        step = self._next()
        if step is Step.COMPLETE:
            self._complete()
        elif step is not None:
            self._ask(step, now_ms)

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        if self._asking:
            return NEVER
        step = self._next()
        if step is None:
            return NEVER
        if step is not Step.COMPLETE and self._whom(step) not in self._coordinators:
            return max(self._retry_at, self._links.next_retry_at())
        return self._retry_at

    def _next(self) -> Step | None:
        state = self.state
        if state is TxnState.INITIALIZING:
            return Step.INIT
        if state not in {TxnState.IN_TRANSACTION, TxnState.COMMITTING, TxnState.ABORTING}:
            return None
        if self._renewing and (state is TxnState.IN_TRANSACTION or self._has_more):
            return Step.INIT
        if self._adding or self._wanted:
            return Step.ADD_PARTITIONS
        if self._adding_group is not None:
            return Step.ADD_OFFSETS
        if self._offsets:
            known = not self.explicit or self._offsets[0].group.group_id in self._groups
            return Step.COMMIT_OFFSETS if known else Step.ADD_OFFSETS
        if state is TxnState.IN_TRANSACTION or not self._idle():
            return None
        if self._started and not self._ended:
            return Step.END
        return Step.INIT if self._bump else Step.COMPLETE

    @property
    def _has_more(self) -> bool:
        """Whether a transaction that is to be committed has anything that waits to go out."""
        return self.state is TxnState.COMMITTING and not (self._idle() and not self._offsets)

    def _whom(self, step: Step) -> tuple[int, str]:
        if step is Step.COMMIT_OFFSETS:
            return requests.GROUP, self._offsets[0].group.group_id or ""
        return requests.TRANSACTION, self._id

    def _ask(self, step: Step, now_ms: int) -> None:
        whom = self._whom(step)
        node = self._coordinators.get(whom)
        if node is not None and self._links.reach(node, now_ms) in (Reach.BACKOFF, Reach.UNKNOWN):
            del self._coordinators[whom]
            node = None
        if node is None:
            self._find(whom, now_ms)
            return
        build, max_version = self._request(step)
        api: ApiKey = step.value
        self._links.send(
            node,
            api,
            build,
            partial(self._answered, step, whom),
            now_ms,
            max_version=max_version,
        )
        self._asking = True  # behind it: see ClientCore.handle_interrupted

    def _request(self, step: Step) -> tuple[Callable[[int], Any], int | None]:
        """How the request is built, and its highest version."""
        identity, name = self._identity, self._id
        me = name, identity.producer_id, identity.producer_epoch
        api: ApiKey = step.value
        highest = requests.EXPLICIT_MAX.get(api) if self.explicit else None
        if step is Step.INIT:
            begins = self.state is TxnState.INITIALIZING
            who = (-1, -1) if begins else me[1:]
            self._bump = not begins  # until it is heard of: that of now may be fenced by it
            timeout_ms = self._config.transaction_timeout_ms
            build = partial(requests.init_producer_id, name, timeout_ms, *who)
            return build, requests.INIT_MAX
        if step is Step.ADD_PARTITIONS:
            self._adding |= self._wanted  # first: what is asked for may be there from now on
            self._wanted = set()
            body: Any = requests.add_partitions(*me, self._adding)
            return lambda _: body, requests.ADD_PARTITIONS_MAX
        if step is Step.ADD_OFFSETS:
            if self._adding_group is None:
                self._adding_group = self._offsets[0].group.group_id or ""
            body = AddOffsetsToTxnRequest(
                transactional_id=name,
                producer_id=identity.producer_id,
                producer_epoch=identity.producer_epoch,
                group_id=self._adding_group,
            )
            return lambda _: body, None
        if step is Step.COMMIT_OFFSETS:
            self._started = True
            head = self._offsets[0]
            highest = highest or requests.TXN_COMMIT_MAX
            return partial(requests.commit_offsets, *me, head.group, head.left), highest
        self._told_to_end = True
        body = EndTxnRequest(
            transactional_id=name,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            committed=self.state is TxnState.COMMITTING,
        )
        return lambda _: body, highest

    # -- whom to ask -------------------------------------------------------------------------------

    def _find(self, whom: tuple[int, str], now_ms: int) -> None:
        node = self._links.least_loaded(now_ms)
        if node is None:
            return
        self._links.send(
            node,
            ApiKey.FIND_COORDINATOR,
            partial(requests.find_coordinator, *whom),
            partial(self._found, whom),
            now_ms,
        )
        self._asking = True

    def _found(self, whom: tuple[int, str], answer: Answer, now_ms: int) -> None:
        self._asking = False
        if answer.body is None:
            self._unanswered(answer.error, now_ms)
            return
        try:
            entry = requests.found_coordinator(answer, whom[1])
        except KafkaError:
            self._wait(now_ms)
            return
        if not entry.error_code:
            node = self._links.add_coordinator(entry.node_id, entry.host, entry.port)
            self._coordinators[whom] = node
            if self._links.reach(node, now_ms) is Reach.BACKOFF:
                self._wait(now_ms)  # it is the one that was lost: looking on would find it again
            return
        kind = "transactional id" if whom[0] == requests.TRANSACTION else "group"
        text = entry.error_message or "no coordinator was found"
        error = error_of(entry.error_code, f"{kind} {whom[1]!r}: {text}")
        effect = effect_of(ApiKey.FIND_COORDINATOR, entry.error_code)
        self._suffer(None, effect, error, whom, now_ms)

    def hint(self, code: int) -> str:
        """What most often is behind an error code: the end of its message, perhaps empty."""
        return hint_of(code, self._config.transaction_timeout_ms)

    # -- answers -----------------------------------------------------------------------------------

    def _answered(self, step: Step, whom: tuple[int, str], answer: Answer, now_ms: int) -> None:
        self._asking = False
        if self.state is TxnState.FATAL_ERROR:
            return
        if answer.body is None:
            if not isinstance(answer.error, UnsupportedVersionError):
                self._coordinators.pop(whom, None)
            self._unanswered(answer.error, now_ms)
        elif step is Step.ADD_PARTITIONS:
            self._take_partitions(requests.added_partitions(answer.body), whom, now_ms)
        elif step is Step.COMMIT_OFFSETS:
            self._take_offsets(requests.committed_offsets(answer.body), whom, now_ms)
        elif answer.body.error_code:
            self._refused(step, answer.body.error_code, whom, now_ms)
        elif step is Step.INIT and answer.body.producer_id < 0:
            self._wait(now_ms)  # it cannot be meant
        else:
            self._granted()
            self._take(step, answer)
        self._tell()

    def _take(self, step: Step, answer: Answer) -> None:
        """It was granted."""
        body = answer.body
        if step is Step.INIT:
            self._successor = (body.producer_id, body.producer_epoch)
            self._can_bump = answer.version >= requests.BUMP_SINCE
            if self.state is TxnState.INITIALIZING:
                self._unheard = TxnInput.INITIALIZE
                self._move(TxnInput.INITIALIZED)
                self._clean()
                self.explicit = not self._implicit()
            elif self._renewing:
                self._renewed()
            else:
                self._complete()
        elif step is Step.ADD_OFFSETS:
            if self._adding_group is not None:
                self._groups.add(self._adding_group)
            self._started = True
            self._adding_group = None
        elif step is Step.END:
            if answer.version >= requests.BUMPING_END and body.producer_id >= 0:
                self._successor = (body.producer_id, body.producer_epoch)
            self._ended = True
            if not self._bump:
                self._complete()

    def _refused(self, step: Step, code: int, whom: tuple[int, str], now_ms: int) -> None:
        api: ApiKey = step.value
        effect = effect_of(api, code)
        what = f"{api.stem} of transactional id {self._id!r} was refused{self.hint(code)}"
        self._suffer(step, effect, error_of(code, what), whom, now_ms)

    def _take_partitions(
        self, codes: dict[TopicPartition, int], whom: tuple[int, str], now_ms: int
    ) -> None:
        """All were added, or none was."""
        asked = self._adding
        bad = {tp: codes.get(tp, ErrorCode.UNKNOWN_SERVER_ERROR) for tp in asked}
        bad = {tp: code for tp, code in bad.items() if code}
        if not bad:
            self._granted()
            self._started = True
            self._parts |= asked
            self._adding = set()
            return
        # Of a partition that was not looked at nothing is said; another one's error is the reason.
        told = set(bad.values()) - {_NOT_ATTEMPTED} or {_NOT_ATTEMPTED}
        found = {code: effect_of(ApiKey.ADD_PARTITIONS_TO_TXN, code) for code in told}
        code = min(found, key=lambda one: _WEIGHT.index(found[one]))
        names = ", ".join(f"{tp.topic}-{tp.partition}" for tp, one in bad.items() if one == code)
        what = f"{names} cannot take part in a transaction of {self._id!r}{self.hint(code)}"
        error = error_of(code, what)
        if isinstance(error, TopicAuthorizationFailedError):
            error.topics = frozenset(tp.topic for tp, one in bad.items() if one == code)
        self._suffer(Step.ADD_PARTITIONS, found[code], error, whom, now_ms)

    def _take_offsets(
        self, codes: dict[TopicPartition, int], whom: tuple[int, str], now_ms: int
    ) -> None:
        """Some were taken; the rest is sent again, or the whole has failed."""
        if not self._offsets or whom != self._whom(Step.COMMIT_OFFSETS):
            return  # given up meanwhile
        head = self._offsets[0]
        bad = {tp: codes.get(tp, ErrorCode.UNKNOWN_SERVER_ERROR) for tp in head.left}
        head.left = {tp: offset for tp, offset in head.left.items() if bad[tp]}
        if not head.left:
            self._granted()
            self._finish(head.operation, None, None)
            self._offsets.popleft()
            return
        found = {bad[tp]: effect_of(ApiKey.TXN_OFFSET_COMMIT, bad[tp]) for tp in head.left}
        code = min(found, key=lambda one: _WEIGHT.index(found[one]))
        group_id = head.group.group_id
        error = error_of(code, f"offsets of group {group_id!r} cannot be part of a transaction")
        if code in OUTDATED:
            outdated = CommitFailedError(
                f"the offsets of group {group_id!r} are not committed: the consumer whose group "
                "metadata was given is not in this generation of the group (any more); abort",
                generation=head.group.generation_id,
            )
            outdated.__cause__ = error
            error = outdated
        self._suffer(Step.COMMIT_OFFSETS, found[code], error, whom, now_ms)

    def _unanswered(self, error: KafkaError | None, now_ms: int) -> None:
        """Nobody said anything: ask again, whoever it is then."""
        if isinstance(error, UnsupportedVersionError):
            self._break(error)
            self._tell()
        else:
            self._wait(now_ms, error)

    def _suffer(
        self,
        step: Step | None,
        effect: Effect,
        error: KafkaError,
        whom: tuple[int, str],
        now_ms: int,
    ) -> None:
        """A request was refused. step: None: the look-up of whom to ask."""
        if effect is Effect.MOVED:
            self._coordinators.pop(whom, None)
        adding = step in (Step.ADD_PARTITIONS, Step.ADD_OFFSETS)
        if effect in (Effect.RETRY, Effect.MOVED):
            if self.state is TxnState.ABORTING and isinstance(error, UnknownTopicOrPartitionError):
                self._leave_out()
            self._wait(now_ms, error, soon=isinstance(error, ConcurrentTransactionsError))
        elif effect is Effect.FENCED:
            self._break(self._fenced(error))
        elif effect is Effect.FATAL or (effect is Effect.BUMP and not self._can_bump):
            self._break(error)
        elif self.state is TxnState.ABORTING and adding:
            self._leave_out()
        elif self.state is TxnState.ABORTING:
            self._abort_refused(error, now_ms)
        else:
            self._bump = self._bump or effect is Effect.BUMP
            if step is Step.ADD_PARTITIONS:
                self._adding = set()
            elif step in (Step.ADD_OFFSETS, Step.COMMIT_OFFSETS) or whom[0] == requests.GROUP:
                self._adding_group = None
                self._blame(error)
            self._fail(error)

    def _fenced(self, error: KafkaError) -> ProducerFencedError:
        words = f"another producer has begun to use transactional id {self._id!r}"
        if self.state is not TxnState.INITIALIZING:
            timeout_ms = self._config.transaction_timeout_ms
            words = f"{words}, {FENCED_HINT.format(timeout_ms=timeout_ms)}"
        fenced = ProducerFencedError(words)
        fenced.__cause__ = error
        return fenced

    def _leave_out(self) -> None:
        """What was to take part cannot, and is not needed any more. If an earlier request has had
        it take part, unanswered, the next epoch ends that.
        """
        self._adding, self._adding_group = set(), None
        self._bump = self._bump or self._can_bump

    def _abort_refused(self, error: KafkaError, now_ms: int) -> None:
        """What cannot be aborted is ended by who gives the next epoch, if that can be had."""
        if not self._can_bump or self._ended:
            self._break(error)
            return
        self._adding, self._adding_group = set(), None
        self._ended = self._bump = True
        self._wait(now_ms)

    def _wait(self, now_ms: int, why: KafkaError | None = None, *, soon: bool = False) -> None:
        self.hindrance = why
        config = self._config
        base_ms = min(_MARKERS_MS, config.retry_backoff_ms) if soon else config.retry_backoff_ms
        self._retry_at = now_ms + exponential(
            self._failures, base_ms, config.retry_backoff_max_ms, self._rng
        )
        self._failures += 1


_NOT_ATTEMPTED: Final = ErrorCode.OPERATION_NOT_ATTEMPTED
# Where partitions are answered differently, what weighs most counts.
_WEIGHT: Final = (
    Effect.FENCED,
    Effect.FATAL,
    Effect.BUMP,
    Effect.ABORT,
    Effect.MOVED,
    Effect.RETRY,
)
