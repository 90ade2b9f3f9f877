"""`Workers`: records handled by threads, in the order of their keys, and committed without gaps.

The thread in `run` polls, feeds and commits; it is the only one that uses the consumer. What is in
hand, and how far a commit may go, is kept by `hands.py`. A partition that goes is given up in four
steps: nothing more of it is begun, what is being handled is waited for (the member lives on
meanwhile), the prefix is committed, the position goes back to its end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kcore.clients import arguments
from kcore.clients.consumer.consumer import Consumer
from kcore.clients.consumer.hands import Hands, Share, Slot
from kcore.clients.consumer.reins import Reins
from kcore.clients.log import Log
from kcore.errors import (
    HandlerError,
    IllegalArgumentError,
    IllegalStateError,
    KafkaConfigurationError,
    KafkaError,
    NoGroupIdError,
    RebalanceInProgressError,
)
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.transports import has_green_threads
from kcore.transports.background import make_event

if TYPE_CHECKING:
    from kcore.records import ConsumerRecord

log = Log("kcore.consumer")

# One poll waits no longer: whatever it waits for, it is not to look as if nobody polled.
_POLL_MS = 1_000
# What is being handled is waited for so long, unless told otherwise, and never longer than half of
# what the group waits for this member.
_DRAIN_MS = 30_000
# How often a thread that has handled its record is looked for where the consumer cannot wait.
_LOOK_S = 0.05
# How often the last commit is tried while a rebalance is on its way.
_LAST_POLL_MS = 20

Handle = Callable[["ConsumerRecord"], object]
OnError = Callable[["ConsumerRecord", BaseException], object]


class Workers:
    """Calls `handle(record)` for every record of a consumer, in `threads` threads at once.

    Records of one key in one partition are handled one after the other, in their order; so are
    those of a partition that have no key. All others are handled side by side. Committed is, for
    each partition, what is finished without a gap: every `commit_interval_ms`, before partitions
    go, and at the end. So a crash skips no record, and what was finished behind the gap comes
    again.

    consumer: a Consumer in a group, with enable_auto_commit=False; subscribed, or to be. While
    `run` goes on nobody else uses it, but the rebalance listener: that is told of partitions that
    go when nothing of them is being handled and the prefix is committed. A `commit()` in it
    commits no more than that.
    max_in_flight: so many records are taken and not finished at most; the partitions are paused
    at that, and resumed at half of it. (A partition also is when ten times as many were taken
    behind a record that does not come to its end.)
    drain_timeout_ms: how long records being handled are waited for before partitions go, and at the
    end; by default 30 s, or half of max_poll_interval_ms if that is less. Behind that whoever gets
    the partition handles them, too.
    on_error: "stop" (what `handle` raises ends `run` with HandlerError), or a function of record
    and error, called in the worker: if it returns, the record counts as finished; if it raises,
    that is what ends `run`.

    KafkaConfigurationError: the consumer commits by itself, or runs on gevent. NoGroupIdError.
    IllegalArgumentError, TypeError.
    """

    def __init__(
        self,
        consumer: Consumer,
        handle: Handle,
        *,
        threads: int = 8,
        max_in_flight: int = 1_000,
        commit_interval_ms: int = 5_000,
        drain_timeout_ms: int | None = None,
        on_error: str | OnError = "stop",
    ) -> None:
        self._reins = _reins_of(consumer)
        settings = self._reins.settings
        self._handle = _function("handle", handle)
        self._on_error: OnError | None = None
        if not isinstance(on_error, str):
            self._on_error = _function("on_error", on_error)
        elif on_error != "stop":
            raise IllegalArgumentError(f'on_error: "stop" or a function, not {on_error!r}')
        self._count = arguments.record_count(threads, "threads")
        self._most = arguments.record_count(max_in_flight, "max_in_flight")
        self._interval_ms = arguments.record_count(commit_interval_ms, "commit_interval_ms")
        half_ms = settings.max_poll_interval_ms // 2
        default_ms = min(_DRAIN_MS, half_ms)
        self._drain_ms = arguments.timeout(drain_timeout_ms, default_ms, "drain_timeout_ms")
        self._commit_ms = min(settings.default_api_timeout_ms, half_ms)
        self._wait_ms = min(_POLL_MS, half_ms)
        self._hands = Hands(self._most, self._reins.nudge)
        self._threads: list[threading.Thread] = []
        self._stopping = False
        self._runner: int | None = None  # the thread in `run`, from its begin on
        self._over = make_event(self._reins.transport)
        self._polled: Mapping[TopicPartition, list[Any]] = {}  # and not put into hands
        self._held: set[TopicPartition] = set()
        self._stands: dict[TopicPartition, OffsetAndMetadata] = {}  # what was committed last
        self._given_up: set[TopicPartition] = set()  # and not had anew
        self._throttled = False
        self._commit_at = 0
        self._committing = False

    # Life ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Poll and have records handled until `stop`, in this thread; once.

        However it ends (Ctrl-C, too, goes on to the caller): what is being handled comes to its
        end, the prefix is committed, the threads end, and the consumer stands where somebody goes
        on who skips nothing.
        HandlerError. What `Consumer.poll` raises; so `consumer.wakeup()` ends it with WakeupError.
        IllegalStateError: it was called before.
        """
        if self._runner is not None:
            raise IllegalStateError("these Workers have run: make others")
        self._runner = threading.get_ident()
        attends = False
        try:
            self._reins.attend(self)
            attends = True
            self._reins.made_anew()  # before: nothing is in hand yet
            self._start()
            while not self._stopping and self._hands.failure is None:
                self._turn()
        finally:
            try:
                if attends:
                    self._finish()
            finally:
                # Also where Ctrl-C strikes once more.
                self._hands.end(self._count)
                self._hands.be_over()
                self._reins.leave(self)
                self._over.set()
        failure = self._hands.failure
        if failure is not None:
            record = failure.record
            raise HandlerError(
                f"record {record.offset} of {record.topic}-{record.partition} was not handled:"
                f" {failure.error!r}; nothing of that partition from there on is committed",
                partition=TopicPartition(record.topic, record.partition),
                offset=record.offset,
                record=record,
            ) from failure.error

    def stop(self) -> None:
        """Have `run` end soon, or at once when it begins. From any thread or signal handler."""
        self._stopping = True
        if self._runner is not None:
            self._hands.nudge()

    def close(self) -> None:
        """`stop`, and wait until `run` has ended, unless it is `run` that calls. Idempotent."""
        self.stop()
        inside = threading.current_thread() in self._threads
        if self._runner not in (None, threading.get_ident()) and not inside:
            self._over.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # The thread in `run` -----------------------------------------------------------------------

    def _start(self) -> None:
        self._commit_at = self._reins.now_ms() + self._interval_ms
        for number in range(self._count):
            thread = threading.Thread(target=self._work, name=f"kcore-worker-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def _turn(self) -> None:
        hands = self._hands
        now = self._reins.now_ms()
        if now >= self._commit_at:
            self._commit_at = now + self._interval_ms
            self._commit_soon()
        self._pace()
        room = max(1, self._most - hands.in_flight)  # nothing comes if there is none: all is paused
        wait_ms = self._wait_ms
        if hands.in_flight or hands.uncommitted():
            wait_ms = min(wait_ms, self._commit_at - now)
        self._reins.poll(wait_ms, min(room, self._reins.settings.max_poll_records), self._note)
        for tp, records in self._polled.items():
            hands.put(tp, records)
        self._polled = {}

    def _note(self, found: Mapping[TopicPartition, list[Any]] | None) -> None:
        self._detach()
        self._polled = found or {}

    def _detach(self, shares: Iterable[Share] = ()) -> None:
        """What is in hand of topics that were made anew is handled, and stands for no position.

        shares: what was given up a moment ago.
        """
        anew = self._reins.made_anew()
        if not anew:
            return
        for tp in anew:
            self._stands.pop(tp, None)
        self._polled = {tp: found for tp, found in self._polled.items() if tp not in anew}
        self._hands.detach(anew)
        for share in shares:
            share.bygone |= share.partition in anew

    def _pace(self) -> None:
        """Hold and release partitions."""
        hands = self._hands
        if self._throttled:
            self._throttled = hands.need_room()
        elif hands.in_flight >= self._most:
            self._throttled = hands.need_room()
            if self._throttled:
                self._held |= self._reins.hold(None)
        if not self._throttled and (self._held or hands.long):
            wanted = {*hands.long}
            free = self._held - wanted
            if free:
                self._reins.release(free)
                self._held -= free
            if wanted - self._held:
                self._held |= self._reins.hold(wanted)

    def _commit_soon(self) -> None:
        offsets = self._uncommitted()
        if offsets and not self._committing:
            self._committing = True
            self._reins.commit_soon(offsets, self._note_commit)

    def _uncommitted(
        self, shares: list[Share] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What is finished, with what no record follows in the log (see `Hands.pass_gaps`)."""
        self._detach(shares or ())
        consumed = self._reins.consumed()
        put = {tp: at for tp, at in consumed.items() if tp not in self._polled}
        self._hands.pass_gaps(put, shares)
        found = self._hands.uncommitted(shares)
        if shares is None:
            # Where nothing has come yet, too, as a consumer that commits by itself does: else what
            # comes between this run and the next is behind the end that "latest" looks for.
            for tp in self._hands.untouched(put) - self._given_up:
                if self._stands.get(tp) != put[tp]:
                    found[tp] = put[tp]
        return found

    def _note_commit(self, offsets: Any, error: KafkaError | None) -> None:
        self._committing = False
        if error is None:
            self._hands.note_committed(offsets)
            self._stands.update(offsets)
        elif error.retriable or isinstance(error, RebalanceInProgressError):
            log.debug("a commit failed, the next is in %d ms: %s", self._interval_ms, error)
        else:
            log.warning("a commit failed, the next is in %d ms: %s", self._interval_ms, error)

    def _finish(self) -> None:
        """The end, whatever has brought it."""
        hands = self._hands
        hands.end(self._count)
        if not self._wait(lambda: not hands.running()):
            _warn_of(hands.running())
        self._go_back()
        self._commit_last()
        self._go_back()
        with suppress(KafkaError):
            self._reins.release(self._held)
        if not hands.running():  # else some end when what they handle does
            for thread in self._threads:
                thread.join()

    def _go_back(self) -> None:
        """Have the consumer stand where nothing is skipped."""
        self._detach()
        positions = self._untouched() | self._hands.unfinished()
        with suppress(KafkaError):  # closed: there is no position any more
            self._reins.go_back(positions)
        self._polled = {}

    def _commit_last(self) -> None:
        """Commit the prefix; while the group does not take it, see to the rebalance first."""
        until = self._reins.now_ms() + self._drain_ms
        while True:
            try:
                self._reins.commit(self._uncommitted(), self._commit_ms)
            except RebalanceInProgressError as error:
                if self._reins.now_ms() >= until:
                    _warn_of_commit(error)
                    return
            except KafkaError as error:
                _warn_of_commit(error)
                return
            else:
                return
            try:
                self._throttled = True  # so nothing comes but the rebalance
                self._held |= self._reins.hold(None)
                self._reins.poll(_LAST_POLL_MS, 1, self._note)
            except KafkaError as error:
                _warn_of_commit(error)
                return

    def _untouched(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Where partitions go on of which something was polled and did not come into hands."""
        hands = self._hands.positions()
        found = {}
        for tp, records in self._polled.items():
            first = OffsetAndMetadata(records[0].offset, "", -1)
            known = hands.get(tp)
            # Some of them may have come into hands, and be finished.
            found[tp] = first if known is None or known.offset < first.offset else known
        return found

    def _wait(self, done: Callable[[], bool]) -> bool:
        """Wait until nothing is handled that is to end; False: drain_timeout_ms is over."""
        until = self._reins.now_ms() + self._drain_ms
        try:
            return self._reins.wait(done, self._drain_ms)
        except KafkaError:  # closed: there is nothing that has to live on
            while not done():
                if self._reins.now_ms() >= until:
                    return False
                self._over.wait(_LOOK_S)
            return True

    # What the consumer tells (see `Attendant`) ---------------------------------------------------

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """These are about to go: called by the consumer."""
        self._detach()
        shares = self._give_up(revoked)
        try:
            if not self._wait(lambda: not any(share.running for share in shares)):
                _warn_of([slot for slot in self._hands.running() if slot.share in shares])
        finally:  # also where Ctrl-C ends the wait: behind this they are gone
            self._commit_shares(shares)

    def _commit_shares(self, shares: list[Share]) -> None:
        try:
            self._reins.commit(self._uncommitted(shares), self._commit_ms)
        except KafkaError as error:
            _warn_of_commit(error)
        positions = {share.partition: share.resumes_at for share in shares}
        with suppress(KafkaError):
            self._reins.go_back({tp: at for tp, at in positions.items() if at is not None})

    def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
        """These are gone: called by the consumer."""
        self._give_up(lost)

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """These are new: called by the consumer."""
        self._given_up -= assigned
        for tp in assigned:
            self._stands.pop(tp, None)
        if self._throttled:
            self._held |= self._reins.hold(assigned)

    def unfinished(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """How far a commit may go in partitions with records in hand."""
        self._detach()
        return self._hands.unfinished()

    def _give_up(self, partitions: Iterable[TopicPartition]) -> list[Share]:
        gone = [*partitions]
        self._held.difference_update(gone)
        self._given_up.update(gone)
        return self._hands.give_up(gone)

    # The workers -----------------------------------------------------------------------------

    def _work(self) -> None:
        hands = self._hands
        while (slot := hands.take()) is not None:
            try:
                self._handle_one(slot.record)
                hands.finish(slot)
            except BaseException as error:  # noqa: BLE001 - `run` raises it
                hands.fail(slot, error)

    def _handle_one(self, record: ConsumerRecord) -> None:
        try:
            self._handle(record)
        except Exception as error:
            if self._on_error is None:
                raise
            self._on_error(record, error)


def _reins_of(consumer: object) -> Reins:
    """Those of a consumer that can be driven so; else why it cannot be."""
    if not isinstance(consumer, Consumer):
        raise TypeError(f"Workers are for a Consumer, not for {type(consumer).__name__}")
    reins = consumer.reins()
    if reins.settings.group_id is None:
        raise NoGroupIdError("Workers commit what is finished: the consumer needs a group_id")
    if reins.settings.enable_auto_commit:
        raise KafkaConfigurationError(
            "Workers commit what is finished, and auto commit would commit what is not: make the"
            " consumer with enable_auto_commit=False",
            option="enable_auto_commit",
        )
    if reins.transport == "gevent" and not has_green_threads():
        raise KafkaConfigurationError(
            'Workers are threads, and transport="gevent" is for greenlets: make the consumer with'
            ' transport="blocking" or "selectors", or have gevent.monkey.patch_all() make'
            " greenlets of threads",
            option="transport",
        )
    return reins


def _function(name: str, value: Any) -> Any:
    from inspect import iscoroutinefunction  # noqa: PLC0415 - loads a parser of Python

    if not callable(value) or iscoroutinefunction(value):
        raise TypeError(f"{name} must be a function that is no coroutine, not {value!r}")
    return value


def _warn_of_commit(error: KafkaError) -> None:
    log.warning("what is finished could not be committed, and will come again: %s", error)


def _warn_of(slots: Iterable[Slot]) -> None:
    """Records that were not done in time."""
    for slot in slots:
        tp, _ = slot.lane
        log.warning(
            "record %d of %s-%d is still being handled: it is not committed, and will come again",
            *(slot.offset, tp.topic, tp.partition),
        )
