"""The verbs of transactions, and what of ours their errors are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcore import errors
from kcore.clients.stand_in.confluent.errors import (
    KafkaError,
    KafkaException,
    failure,
    named,
    raised,
    told,
    words_of,
)
from kcore.clients.stand_in.confluent.offsets import of_partitions
from kcore.clients.stand_in.confluent.writer import Writer
from kcore.limits import MAX_INT32
from kcore.transports import monotonic_s


class Transactions:
    """The part of a Producer that begins and ends transactions.

    Of all verbs: KafkaException, whose error says `retriable()` (call it again),
    `txn_requires_abort()` (abort, begin anew) or `fatal()` (make another producer). timeout:
    seconds; below 0: as long as it takes.
    """

    _under_way = ""  # the verb that was not over in time
    _unwritten = 0  # messages of this transaction that came into no batch

    def _need(self) -> Writer:
        raise NotImplementedError

    def init_transactions(self, timeout: float = -1) -> None:
        """Register the transactional.id, and fence whoever had it before."""
        writer = self._need()
        self._run("init_transactions", lambda: writer.init_transactions(_limit(timeout)))

    def begin_transaction(self) -> None:
        """What is produced from now on is in one transaction."""
        self._run("begin_transaction", self._need().begin_transaction)
        self._unwritten = 0

    def commit_transaction(self, timeout: float = -1) -> None:
        """Deliver everything, and make it visible."""
        writer = self._need()
        self._run("commit_transaction", lambda: self._commit(writer, timeout))
        self._serve()

    def _commit(self, writer: Writer, timeout: float) -> None:
        until = None if timeout < 0 else monotonic_s() + timeout
        self._put_everything(until)
        if self._unwritten:
            self._under_way = ""
            why = f"{self._unwritten} message(s) failed delivery (see individual delivery reports)"
            raise failure("_INCONSISTENT", why, txn_requires_abort=True)
        writer.commit_transaction(_limit(-1 if until is None else max(0, until - monotonic_s())))

    def abort_transaction(self, timeout: float = -1) -> None:
        """Drop what was not sent, and have nobody see the rest."""
        writer = self._need()
        self._give_up_kept()
        self._run("abort_transaction", lambda: writer.abort_transaction(_limit(timeout)))
        self._serve()

    def send_offsets_to_transaction(
        self, positions: list[Any], group_metadata: Any, timeout: float = -1
    ) -> None:
        """Commit a consumer's offsets with the transaction. group_metadata: of its
        `consumer_group_metadata()`.
        """
        writer = self._need()
        wanted = of_partitions(positions)
        if group_metadata is None:
            raise TypeError("expected the consumer's consumer_group_metadata(), not None")
        self._run(
            "send_offsets_to_transaction",
            lambda: writer.send_offsets_to_transaction(wanted, group_metadata, _limit(timeout)),
        )

    def _serve(self) -> int:
        """Tell the program what became of its messages."""
        raise NotImplementedError

    def _put_everything(self, until: float | None) -> None:
        """What has no batch yet is to get one, before the transaction ends. KafkaTimeoutError."""
        raise NotImplementedError

    def _give_up_kept(self) -> None:
        """Or it fails."""
        raise NotImplementedError

    def _run(self, verb: str, call: Callable[[], object]) -> None:
        if self._under_way not in ("", verb):
            why = f"{self._under_way} is not over: call it again"
            raise failure("_CONFLICT", why, retriable=True)
        try:
            call()
        except errors.KafkaTimeoutError as error:
            self._under_way = verb
            raise raised(error, retriable=True) from error
        except errors.KafkaError as error:
            self._under_way = ""
            raise KafkaException(_why(error)) from error
        self._under_way = ""


def _limit(timeout: float) -> float:
    return MAX_INT32 / 1000 if timeout < 0 else timeout


_FENCED = (errors.for_code(90), errors.for_code(47))
_ABORTABLE = (errors.for_code(120), errors.CommitFailedError)


def _why(error: errors.KafkaError) -> KafkaError:
    if isinstance(error, _FENCED):
        return named("_FENCED", f"{words_of(named('_FENCED').code())}: {error}", fatal=True)
    if isinstance(error, _ABORTABLE):
        cause = error.__cause__
        of = cause if isinstance(cause, errors.KafkaError) else error
        code = told(of).code()
        return KafkaError(code, f"{words_of(code)}: {error}", txn_requires_abort=True)
    if isinstance(error, errors.IllegalStateError) and "transactional_id" in str(error):
        return named("_NOT_CONFIGURED", f"{words_of(named('_NOT_CONFIGURED').code())}: {error}")
    return told(error)
