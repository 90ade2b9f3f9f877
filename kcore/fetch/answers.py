"""What a fetch answer does: to the session, the shelf, the leaders, and the next try (F6, F8, 9.4).

An answer is judged as a whole first: one that does not fit what was asked is not used, and the
node is left alone for a while. Then partition by partition, in the answer's order. What is wrong
with a partition is dealt with at once if the application has nothing to decide; else it becomes an
entry on the shelf, behind the records that came before it.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.connection.calls import Answer, ClusterView
from kcore.errors import (
    AuthenticationFailedError,
    AuthorizationError,
    KafkaError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
    for_code,
)
from kcore.events import Event, RecordsFetched
from kcore.fetch.config import EARLY_EMPTY_MAX, STALE_ANSWERS_MAX, FetchConfig, ResetStrategy
from kcore.fetch.hints import learn_leader
from kcore.fetch.partition import Partition
from kcore.fetch.planner import NodePlan, Planner
from kcore.fetch.positions import Positions
from kcore.fetch.reading import Slice, opener
from kcore.fetch.session import Ask, Verdict
from kcore.fetch.shelf import Entry, Frame
from kcore.fetch.states import PartitionState
from kcore.fetch.validation import Validation
from kcore.hints import Final
from kcore.structs import TopicPartition
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import FetchResponse

# Somebody else leads, or the node cannot serve it now: look who does, then ask again (9.4).
_ASK_ELSEWHERE: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
# The node is behind us, or failed in a way it cannot name: ask again later.
_ASK_LATER: Final = frozenset({ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR})

# Failures of a whole request that no later try can cure: the application must hear of them.
_HOPELESS: Final = (UnsupportedVersionError, AuthenticationFailedError, AuthorizationError)

_NOTHING_NEW: Final = "the answer held nothing new"

_Part = tuple[TopicPartition, FetchResponse.PartitionData]


class _Taken:
    """One answer while it is taken in.

    notable: any partition had something to say. full: there may be more that had no room in it.
    """

    __slots__ = ("body", "frame", "full", "notable", "now_ms", "plan")

    def __init__(self, plan: NodePlan, body: FetchResponse, now_ms: int) -> None:
        self.plan = plan
        self.body = body
        self.now_ms = now_ms
        self.frame = Frame(0)
        self.notable = self.full = False


class Answers:
    """See the module's text. `raise_later` takes errors that belong to no place in a log."""

    def __init__(
        self,
        config: FetchConfig,
        cluster: ClusterView,
        positions: Positions,
        planner: Planner,
        validation: Validation,
        emit: Callable[[Event], None],
        raise_later: Callable[[KafkaError], None],
    ) -> None:
        self._config = config
        self._open = opener(config)
        self._cluster = cluster
        self._positions = positions
        self._planner = planner
        self._validation = validation
        self._emit = emit
        self._raise_later = raise_later

    def take(self, plan: NodePlan, answer: Answer, now_ms: int) -> None:
        """Take what came of a fetch request of `plan`."""
        body: FetchResponse | None = answer.body
        if body is None:
            self._failed(plan, answer.error, now_ms)
            return
        session = plan.session
        parts = _parts(plan, body)
        verdict = session.take_answer(
            body.error_code,
            body.session_id,
            None if parts is None else [tp for tp, _ in parts],
            body.throttle_time_ms > 0,
        )
        if verdict is Verdict.USE and parts is not None:
            plan.failures = 0
            self._use(_Taken(plan, body, now_ms), parts)
        elif verdict is Verdict.RENEW:
            if body.error_code != ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._cluster.request_update()
            # A broker may lose sessions; one that keeps losing them must not make us spin.
            if plan.failures:
                self._planner.fail(plan, now_ms)
            else:
                plan.failures = 1
        elif verdict is Verdict.SKIP:
            self._came_empty(plan, now_ms)
        else:
            self._planner.fail(plan, now_ms)

    def _failed(self, plan: NodePlan, error: KafkaError | None, now_ms: int) -> None:
        plan.session.renew()
        self._planner.fail(plan, now_ms)
        # Also who was not asked for this time; else each would wait for another failure.
        self._planner.leave_replica(plan, plan.session.asks | plan.wanted, now_ms)
        if isinstance(error, _HOPELESS):
            self._raise_later(error)

    def _came_empty(self, plan: NodePlan, now_ms: int) -> None:
        """An answer without anything: fine after the wait, suspicious before."""
        if now_ms - plan.sent_at >= self._config.fetch_max_wait_ms // 2:
            plan.early = 0
            return
        plan.early += 1
        if plan.early > EARLY_EMPTY_MAX:
            plan.retry_at = now_ms + self._planner.backoff_ms(plan.early - EARLY_EMPTY_MAX - 1)

    # -- partitions --------------------------------------------------------------------------------

    def _use(self, taken: _Taken, parts: list[_Part]) -> None:
        plan, frame = taken.plan, taken.frame
        frame.size = size = sum(len(data.records) for _, data in parts if data.records)
        fetched: dict[TopicPartition, int] = {}
        taken.full = 2 * size >= plan.asked_bytes  # less by a large batch may be full as well
        for tp, data in parts:
            partition = self._positions.find(tp)
            if partition is None:
                continue
            ask = plan.session.asks[tp]
            if data.error_code:
                self._take_error(taken, partition, ask, data)
            elif self._take_data(taken, partition, ask, data):
                fetched[tp] = len(data.records or b"")
        throttled = taken.body.throttle_time_ms > 0
        if fetched or not throttled:  # a quota is no room that nobody wanted
            plan.window.answered(fetched, plan.asked_bytes, full=taken.full)
        if fetched:
            plan.pace.arrived(size, taken.now_ms - plan.sent_at)
            self._emit(RecordsFetched(plan.node_id, tuple(fetched), size))
        if size or taken.notable or (plan.window.narrow and not throttled):
            plan.early = 0  # who takes turns is told at once, and then waits with the others
        else:
            self._came_empty(plan, taken.now_ms)

    def _take_data(
        self, taken: _Taken, partition: Partition, ask: Ask, data: FetchResponse.PartitionData
    ) -> bool:
        """A partition without an error; whether it brought anything."""
        if not _expected(partition, ask):
            return False
        partition.log_id = ask.topic_id if taken.plan.session.with_ids else None
        partition.strategy = ResetStrategy.NONE
        diverging = data.diverging_epoch
        if diverging.epoch >= 0 or diverging.end_offset >= 0:
            taken.notable = True
            self._positions.doubt(partition)
            self._validation.judge(partition, diverging.epoch, diverging.end_offset, taken.now_ms)
            return False
        self._note_offsets(partition, data, taken.now_ms)
        redirected = self._take_preferred(partition, data.preferred_read_replica, taken)
        if not data.records:
            if not redirected:
                partition.attempts = 0
            self._planner.came_without(taken.plan, partition, full=taken.full)
            return False
        entry = self._read(taken, partition, data)
        if entry is None:
            self._planner.back_off(partition, taken.now_ms, _NOTHING_NEW)
            return False
        self._planner.shelf.add(partition, entry)
        self._planner.touch(partition)
        partition.attempts = 0
        partition.error = ""
        if ask.tp in taken.plan.wanted:
            taken.plan.wanted.move_to_end(ask.tp)  # others are served before it (F11)
        return True

    def _read(
        self, taken: _Taken, partition: Partition, data: FetchResponse.PartitionData
    ) -> Entry | None:
        """Open the records; None if there is nothing at or behind the offset asked for, and the
        broker may still come to its senses.
        """
        tp, offset = partition.tp, partition.next_offset
        aborted = _aborted(data) if self._config.committed_only else None
        found = Slice(tp, data.records or b"", aborted)
        entry = Entry(taken.plan, taken.frame, offset)
        try:
            reader = self._open(found, offset)
        except KafkaError as error:
            # Without the frames that it has gone through: they hold the answer.
            return entry.with_error(error.with_traceback(None), standing=True)
        if not reader.has_batches:
            from kcore.fetch.unreadable import cut_off  # noqa: PLC0415 - few brokers send that

            return entry.with_error(cut_off(found, offset), standing=True)
        if reader.end_offset > offset:
            return entry.with_records(reader, found)
        if partition.error == _NOTHING_NEW and partition.attempts >= STALE_ANSWERS_MAX:
            from kcore.fetch.unreadable import stale  # noqa: PLC0415

            return entry.with_error(stale(found, offset), standing=True)
        return None

    def _note_offsets(
        self, partition: Partition, data: FetchResponse.PartitionData, now_ms: int
    ) -> None:
        partition.told_at = now_ms
        if data.high_watermark >= 0:
            partition.high_watermark = data.high_watermark
        if data.last_stable_offset >= 0:
            partition.last_stable_offset = data.last_stable_offset
        if data.log_start_offset >= 0:
            partition.log_start = data.log_start_offset

    def _take_preferred(self, partition: Partition, replica: int, taken: _Taken) -> bool:
        """KIP-392; the same one named again is not believed for longer."""
        if replica < 0 or replica == partition.preferred:
            return False
        taken.notable = True
        partition.preferred = replica
        partition.preferred_until = taken.now_ms + self._config.metadata_max_age_ms
        if partition.attempts:  # sent on once more, without a record between: perhaps in a circle
            self._planner.back_off(partition, taken.now_ms, "sent from replica to replica")
        else:
            partition.attempts = 1
            self._planner.touch(partition)
        return True

    # -- errors ------------------------------------------------------------------------------------

    def _take_error(
        self, taken: _Taken, partition: Partition, ask: Ask, data: FetchResponse.PartitionData
    ) -> None:
        code, now_ms, planner = data.error_code, taken.now_ms, self._planner
        taken.notable = True
        if code in _ASK_ELSEWHERE:
            learn_leader(self._cluster, partition.tp, data, taken.body)
            self._cluster.request_update()
            partition.preferred = -1
            planner.back_off(partition, now_ms, _name(code))
        elif not _expected(partition, ask):
            return
        elif code in _ASK_LATER:
            planner.back_off(partition, now_ms, _name(code))
        elif code != ErrorCode.OFFSET_OUT_OF_RANGE:
            self._shelve(taken, partition, code)
        elif partition.preferred == taken.plan.node_id:
            # A follower may be behind; only the leader knows (KIP-392).
            partition.preferred = -1
            planner.back_off(partition, now_ms, _name(code))
        elif self._may_reset(partition):
            planner.leave(partition, now_ms)
        else:
            self._shelve(taken, partition, code)

    def _shelve(self, taken: _Taken, partition: Partition, code: int) -> None:
        """Raise it when everything before it was handed over; nothing is asked for until then."""
        error = _error(partition, code)
        entry = Entry(taken.plan, taken.frame, partition.next_offset).with_error(error)
        self._planner.shelf.add(partition, entry)
        self._planner.touch(partition)

    def _may_reset(self, partition: Partition) -> bool:
        # With records buffered the application is not there yet: the error waits behind them.
        return not partition.entries and self._positions.out_of_range is not ResetStrategy.NONE


def _parts(plan: NodePlan, body: FetchResponse) -> list[_Part] | None:
    """The partitions of an answer by name; None if one comes twice, or its topic was not asked."""
    session = plan.session
    found: dict[TopicPartition, FetchResponse.PartitionData] = {}
    count = 0
    for topic in body.responses:
        name = session.topic_of(topic.topic_id) if session.with_ids else topic.topic
        if name is None:
            return None
        for data in topic.partitions:
            if data.high_watermark < -1 or data.last_stable_offset < -1:
                return None
            found[TopicPartition(name, data.partition_index)] = data
            count += 1
    return list(found.items()) if len(found) == count else None


def _expected(partition: Partition, ask: Ask) -> bool:
    """Whether an answer to `ask` is about the place we want to go on from (F8), in a log of the
    topic that there is now.
    """
    return (
        ask.topic_id in (None, partition.topic_id)
        and partition.state is PartitionState.FETCHING
        and partition.next_offset == ask.offset
        and partition.can_go_on
    )


def _aborted(data: FetchResponse.PartitionData) -> list[tuple[int, int]]:
    return [(one.producer_id, one.first_offset) for one in data.aborted_transactions or ()]


def _name(code: int) -> str:
    return for_code(code).name


def _error(partition: Partition, code: int) -> KafkaError:
    tp, offset = partition.tp, partition.next_offset
    where = f"{tp.topic}-{tp.partition}"
    if code == ErrorCode.OFFSET_OUT_OF_RANGE:
        low, high = _known(partition.log_start), _known(partition.high_watermark)
        holds = ""
        if low is not None or high is not None:
            ends = ("?" if end is None else str(end) for end in (low, high))
            holds = f": the log is known to hold {' to '.join(ends)}"
        return OffsetOutOfRangeError(
            {tp: offset},
            f"{where}: offset {offset} is out of range{holds}; seek to one that there is, or set"
            " auto_offset_reset or out_of_range_reset",
            partition=tp,
            offset=offset,
            log_start=low,
            high_watermark=high,
            offsets={tp: offset},
        )
    if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return TopicAuthorizationFailedError(
            f"not authorized to read topic {tp.topic}", topics=frozenset({tp.topic})
        )
    return for_code(code)(f"fetching {where} from offset {offset} failed")


def _known(offset: int) -> int | None:
    return None if offset < 0 else offset
