"""A producer's transactions as the application has them: the verbs, what they begin, and how that
ends. What has to be asked for it is in `transaction.py`.

Verbs that take time are operations. One that nobody has heard the end of (it timed out, Ctrl-C
struck) goes on by itself, and the same verb called again tells how it ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from kcore.errors import (
    BrokerResponseError,
    KafkaError,
    TransactionAbortableError,
    TransactionAbortedError,
    TransactionStateError,
)
from kcore.produce import transaction_requests as requests
from kcore.produce.config import ProduceConfig
from kcore.produce.identity import Identity
from kcore.produce.network import Links
from kcore.produce.transaction_effects import FATAL_TO_BATCHES
from kcore.produce.transaction_requests import Offsets
from kcore.produce.transaction_states import ADVICE, TABLE, TxnInput, TxnState
from kcore.structs import ConsumerGroupMetadata, Rng, TopicPartition
from kcore.wire.apis import ApiKey

Finish = Callable[[int, Any, KafkaError | None], None]

# There is a transaction, and batches of it.
_OPEN: Final = (
    TxnState.IN_TRANSACTION,
    TxnState.COMMITTING,
    TxnState.ABORTING,
    TxnState.ABORTABLE_ERROR,
)
# As long as the state is this, the verb is not over.
_BUSY: Final = {
    TxnInput.INITIALIZE: TxnState.INITIALIZING,
    TxnInput.COMMIT: TxnState.COMMITTING,
    TxnInput.ABORT: TxnState.ABORTING,
}


class OffsetsToCommit:
    """Offsets of one group on their way. left: what the coordinator has not taken yet."""

    def __init__(self, operation: int, group: ConsumerGroupMetadata, offsets: Offsets) -> None:
        self.operation = operation
        self.group = group
        self.left = offsets


class TransactionVerbs:
    """See the module's text.

    idle: whether no batch is unfinished, and no request with batches unanswered. closed: told when
    records are not taken any more. finish: ends an operation. explicit: the brokers want to be told
    what takes part (`transaction.version` below 2).
    """

    def __init__(
        self,
        config: ProduceConfig,
        links: Links,
        identity: Identity,
        rng: Rng,
        *,
        idle: Callable[[], bool],
        closed: Callable[[], None],
        finish: Finish,
    ) -> None:
        assert config.transactional_id is not None
        self.state = TxnState.UNINITIALIZED
        self.explicit = True
        self._id = config.transactional_id
        self._config = config
        self._links = links
        self._identity = identity
        self._rng = rng
        self._idle = idle
        self._closed = closed
        self._finish = finish
        self._error: KafkaError | None = None  # why the state is an error
        # Who is asked, by the key type and name it was looked up by.
        self._coordinators: dict[tuple[int, str], int] = {}
        self._asking = False
        self._retry_at = 0
        self._failures = 0
        self._waiting: dict[int, TxnInput] = {}  # verbs, by their operations
        self._unheard: TxnInput | None = None  # the verb that ended last, until that was heard
        self._can_bump = False
        # Whom the next transaction is to be of; None: the same.
        self._successor: tuple[int, int] | None = None
        self._forget()

    def _forget(self) -> None:
        """No transaction is open."""
        self._parts: set[TopicPartition] = set()  # they take part
        self._wanted: set[TopicPartition] = set()  # they are to
        self._adding: set[TopicPartition] = set()  # the coordinator was asked, and has not answered
        self._offsets: deque[OffsetsToCommit] = deque()
        self._groups: set[str] = set()  # they take part
        self._adding_group: str | None = None  # the coordinator was asked, and has not answered
        self._started = False  # the coordinator may have something to end
        self._told_to_end = False
        self._ended = False
        self._bump = False
        self._renewing = False  # nothing goes out before there is another epoch
        self.hindrance: KafkaError | None = None  # what is asked again died of this

    # -- state -------------------------------------------------------------------------------------

    def _move(self, what: TxnInput) -> bool:
        """The one place that writes the state; False if the input means nothing now."""
        to = TABLE[self.state].get(what)
        if to is None:
            return False
        self.state = to
        if to is not TxnState.IN_TRANSACTION:
            self._closed()
        return True

    def _enter(self, verb: TxnInput) -> None:
        """Carry out a verb, or raise why it cannot be."""
        if not self._move(verb):
            raise self._refusal(verb)

    def _refusal(self, verb: TxnInput) -> KafkaError:
        error, state = self._error, self.state
        refusal: KafkaError
        if state is TxnState.FATAL_ERROR and error is not None:
            kind = type(error) if isinstance(error, BrokerResponseError) else KafkaError
            refusal = kind(f"{verb.value}: the producer cannot go on, close it: {error}")
            refusal.__cause__ = error
        elif state is TxnState.ABORTABLE_ERROR and error is not None:
            refusal = TransactionAbortableError(
                f"{verb.value}: the transaction can only be aborted: {error}"
            )
            refusal.__cause__ = error
        else:
            advice = ADVICE.get(state, "close it")
            refusal = TransactionStateError(
                f"{verb.value}: the producer is {state.value}: {advice}"
            )
        return refusal

    # -- the verbs ---------------------------------------------------------------------------------

    def initialize(self, operation: int) -> None:
        """Get a producer id, and fence whoever has the transactional id."""
        if not (self.state is TxnState.READY and self._unheard is TxnInput.INITIALIZE):
            self._enter(TxnInput.INITIALIZE)
        self._waiting[operation] = TxnInput.INITIALIZE
        self._tell()

    def begin(self) -> None:
        """What is sent from now on is in one transaction."""
        if self.state is TxnState.READY and self._unheard is TxnInput.COMMIT:
            raise TransactionStateError(
                "begin_transaction: the last commit has not been heard of: call commit_transaction "
                "again, which tells how it ended"
            )
        if self.state is TxnState.READY:
            self._clean()
            implicit = self._implicit()
            # What the last one had take part may be open there still, without its marker: under its
            # epoch records would be taken into that (KAFKA-18227).
            self._renewing = implicit and self.explicit and self._can_bump
            self.explicit = self.explicit or not implicit
        self._enter(TxnInput.BEGIN)

    def send_offsets(self, operation: int, group: ConsumerGroupMetadata, offsets: Offsets) -> None:
        """Commit a group's offsets with the transaction."""
        self._enter(TxnInput.OFFSETS)
        if offsets:
            self._offsets.append(OffsetsToCommit(operation, group, offsets))
        else:
            self._finish(operation, None, None)

    def commit(self, operation: int) -> None:
        """Make it visible, once all that was sent is written."""
        if not (self.state is TxnState.READY and self._unheard is TxnInput.COMMIT):
            self._enter(TxnInput.COMMIT)
        self._waiting[operation] = TxnInput.COMMIT
        self._tell()

    def abort(self, operation: int | None) -> None:
        """Have nobody see it. operation: None: nobody waits for the end of that."""
        if self.state is TxnState.COMMITTING and self._told_to_end:
            raise self._refusal(TxnInput.ABORT)
        if not (self.state is TxnState.READY and self._unheard is TxnInput.ABORT):
            self._enter(TxnInput.ABORT)
            self._drop()
        if operation is not None:
            self._waiting[operation] = TxnInput.ABORT
        self._tell()

    def heard(self) -> None:
        """The application knows how the last verb has ended."""
        self._unheard = None

    @property
    def unheard(self) -> bool:
        """Whether the application does not know how the last verb has ended."""
        return self._unheard is not None

    def check_open(self) -> None:
        """Raise why a record cannot be taken, if so."""
        if self.state is not TxnState.IN_TRANSACTION:
            raise self._refusal(TxnInput.SEND)

    def close(self) -> None:
        """The producer is being closed: a transaction that nobody has ended is aborted."""
        if self.state in {TxnState.IN_TRANSACTION, TxnState.ABORTABLE_ERROR}:
            self.abort(None)

    @property
    def over(self) -> bool:
        """Whether there is nothing that an orderly end would wait for."""
        return self.state not in {TxnState.COMMITTING, TxnState.ABORTING}

    def give_up(self, error: KafkaError) -> None:
        """Nobody goes on with it: whoever waits is told so."""
        for operation in [*self._waiting, *(one.operation for one in self._offsets)]:
            self._finish(operation, None, error)
        self._waiting.clear()
        self._offsets.clear()

    # -- batches -----------------------------------------------------------------------------------

    def use(self, tp: TopicPartition) -> None:
        """There is a batch for this partition."""
        known = tp in self._parts or tp in self._adding
        if self.explicit and not (known or self._renewing):
            self._wanted.add(tp)

    def admits(self, tp: TopicPartition) -> bool:
        """Whether batches of a partition may go out now."""
        if tp in self._parts:
            return True
        if self.state not in {TxnState.IN_TRANSACTION, TxnState.COMMITTING}:
            return False
        if self.explicit:
            self.use(tp)
            return False
        self._started = True  # first: Ctrl-C may strike between the two
        self._parts.add(tp)
        return True

    @property
    def batch_error(self) -> KafkaError | None:
        """Why batches that nobody has sent are given up; None: they are not."""
        if self.state is TxnState.ABORTING and self._error is None:
            return TransactionAbortedError("the transaction was aborted before this was sent")
        if self.state in {TxnState.ABORTING, TxnState.ABORTABLE_ERROR}:
            error = TransactionAbortedError(f"the transaction has failed: {self._error}")
            error.__cause__ = self._error
            return error
        return None

    @property
    def fatal_error(self) -> KafkaError | None:
        """Why no batch can be delivered any more; None: they can."""
        return self._error if self.state is TxnState.FATAL_ERROR else None

    def batch_failed(self, error: KafkaError, *, broken: bool) -> None:
        """A batch was not written, or nobody knows. broken: its partition's sequence has a gap."""
        if isinstance(error, FATAL_TO_BATCHES):
            self._break(error)
        elif self.state in _OPEN:
            self._bump = self._bump or (self.explicit and (self._can_bump or broken))
            self._fail(error)

    def _granted(self) -> None:
        """What was asked last was done: nothing stands in the way."""
        self._failures = 0
        self.hindrance = None

    # -- what became of it -------------------------------------------------------------------------

    def _fail(self, error: KafkaError) -> None:
        if self._error is None:
            self._error = error
        self._move(TxnInput.FAILED)
        self._tell()

    def _break(self, error: KafkaError) -> None:
        if self.state is not TxnState.FATAL_ERROR:
            self._error = error
        self._move(TxnInput.BROKEN)
        self._tell()

    def _drop(self) -> None:
        """It is to be aborted: what the coordinator was not asked for it never hears of."""
        self._wanted = set()
        self._tell()

    def _complete(self) -> None:
        """Nothing is left to be done for it."""
        committed = self.state is TxnState.COMMITTING
        self._unheard = TxnInput.COMMIT if committed else TxnInput.ABORT
        self._move(TxnInput.ENDED)
        self._clean()
        self._tell()

    def _clean(self) -> None:
        """Behind a transaction, or before one: nothing of the last one is left."""
        self._succeed()
        self._error = None
        self._forget()

    def _succeed(self) -> None:
        """Be whom the coordinator has said, if it has."""
        if self._successor is not None:
            self._identity.producer_id, self._identity.producer_epoch = self._successor
            self._successor = None

    def _renewed(self) -> None:
        """There is another epoch: brokers need not be told what takes part in this transaction."""
        self._succeed()
        self.explicit = self._renewing = self._bump = False

    def _implicit(self) -> bool:
        """Whether the brokers need not be told what takes part."""
        node = self._coordinators.get((requests.TRANSACTION, self._id))
        if node is None:
            return not self.explicit
        version = self._links.version_of(node, ApiKey.END_TXN)
        if version is None:  # there is no link now: as it was
            return not self.explicit
        level = self._links.feature_level(requests.FEATURE)
        return version >= requests.BUMPING_END and level >= requests.IMPLICIT_SINCE

    def _tell(self) -> None:
        """End the operations that the state decides."""
        state = self.state
        if self._offsets and state not in {TxnState.IN_TRANSACTION, TxnState.COMMITTING}:
            self._blame(self._why(TxnInput.OFFSETS))
        for operation, verb in [*self._waiting.items()]:
            busy = _BUSY[verb]
            if state is busy:
                continue
            error = None if state is TxnState.READY else self._why(verb)
            self._finish(operation, None, error)
            del self._waiting[operation]
        if state is TxnState.UNINITIALIZED:
            self._error = None

    def _blame(self, error: KafkaError) -> None:
        """Who waits for offsets is told why they are not committed."""
        for one in self._offsets:
            self._finish(one.operation, None, error)
        self._offsets.clear()

    def _why(self, verb: TxnInput) -> KafkaError:
        """Why a verb that was begun does not end well."""
        if self.state is TxnState.UNINITIALIZED and self._error is not None:
            return self._error
        if self.state is TxnState.ABORTING:
            return TransactionAbortedError(f"{verb.value}: the transaction was aborted meanwhile")
        return self._refusal(verb)

    def mend(self) -> None:
        """Something was struck, perhaps in the middle of a change: nothing is being asked, and what
        follows from the state is done.
        """
        self._asking = False
        if self.state is TxnState.READY:
            self._clean()
        elif self.state is TxnState.ABORTING:
            self._drop()
        self._tell()
