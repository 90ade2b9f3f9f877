"""Batches to their leaders, answers back to their batches; what failed is sent again.

Each turn: what has waited too long fails, lanes with something due are gathered by leader, and each
leader with room for another request gets one, with at most one batch of a partition.

Which failure means what (Java: Sender, TransactionManager.canRetry):
* no error, or DUPLICATE_SEQUENCE_NUMBER: the leader has it;
* MESSAGE_TOO_LARGE for more than one record: split, the parts take over its sequence;
* a retriable one: again after a backoff, at once where the answer names a newer leader (KIP-951);
* OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID, INVALID_PRODUCER_EPOCH behind a batch that is
  not over: again, when it is;
* the same for the oldest batch: a new epoch, and the partition's unfinished batches again under it
  (KIP-360);
* anything else: it has failed, for good.

In a transaction (`transaction.py`) no epoch is raised: what fails for good makes that fail, too. An
INVALID_PRODUCER_EPOCH does wherever it comes from: no batch before it would change that (Java: not
retriable, and abortable since KIP-588).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kcore import errors
from kcore.connection.backoff import exponential
from kcore.connection.calls import Answer, ClusterView, Reach
from kcore.errors import KafkaError, KafkaTimeoutError
from kcore.produce import splitting
from kcore.produce.accumulator import Accumulator
from kcore.produce.batch import Batch, BatchState
from kcore.produce.config import ProduceConfig
from kcore.produce.identity import Identity
from kcore.produce.lane import Lane
from kcore.produce.measures import Measures
from kcore.produce.network import Links
from kcore.produce.requests import EXPLICIT_MAX, TOPIC_IDS_SINCE, build_produce, read_answer
from kcore.structs import Leader, Node, Rng
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.produce.transaction import Transaction

_REACHABLE: Final = (Reach.READY, Reach.CONNECTING, Reach.IDLE)
# The transaction before is over in a moment (Java: 20 ms, too).
_MARKERS_MS: Final = 20
# Producer ids and sequences have no place in them (KIP-98).
_OLD_FORMAT: Final = (
    "; the topic's message.format.version is before 0.11: with enable_idempotence=False, and "
    "without transactions, records can be written"
)
# What may pass though it is not called retriable. Who is refused was let in before: a broker that
# has just come up may not know its users yet, an identity provider may be away for a moment.
_PASSES: Final = (errors.ProtocolError, errors.AuthenticationFailedError)
_NEW_EPOCH: Final = (
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.INVALID_PRODUCER_EPOCH,
)


class Sender:
    """See the module's text. delivered: told of each batch that is over. replaced: of each that was
    split, and its parts. transaction: who says what may go and what is given up, if there are any.
    """

    def __init__(
        self,
        config: ProduceConfig,
        links: Links,
        cluster: ClusterView,
        accumulator: Accumulator,
        rng: Rng,
        measures: Measures,
        *,
        delivered: Callable[[Batch], None],
        replaced: Callable[[Batch, list[Batch]], None],
    ) -> None:
        self.identity = Identity(config, links, rng, self.fail_everything)
        self._config = config
        self._links = links
        self._cluster = cluster
        self._accumulator = accumulator
        self._rng = rng
        self._measures = measures
        self._delivered = delivered
        self._replaced = replaced
        self.transaction: Transaction | None = None
        self._asked: dict[int, int] = {}  # requests unanswered, by node
        self._wait_until = NEVER  # when a lane that is due may be sent
        self._disowned = 0  # how often all requests were; what they bring is not looked at

    @property
    def idle(self) -> bool:
        """Nothing is to be sent, and nothing unanswered."""
        return not self._accumulator.unfinished and not any(self._asked.values())

    @property
    def requests_in_flight(self) -> int:
        """How many are not answered."""
        return sum(self._asked.values())

    # Time ----------------------------------------------------------------------------------------

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        accumulator = self._accumulator
        first = min(accumulator.deadline(), self._wait_until)
        oldest = next(iter(accumulator.unfinished), None)
        if oldest is not None:
            first = min(first, oldest.expires_at)
            if self._needs_identity:
                first = min(first, self.identity.deadline())
        return first

    @property
    def _needs_identity(self) -> bool:
        if self.transaction is not None:  # it sees to that
            return False
        return self._config.enable_idempotence and not self.identity.known

    def handle_tick(self, now_ms: int) -> None:
        """Fail what is late, send what is due."""
        accumulator = self._accumulator
        accumulator.handle_tick(now_ms)
        self._expire(now_ms)
        if self.transaction is not None and accumulator.unfinished:
            self._give_up(self.transaction, now_ms)
        self._wait_until = NEVER
        if self._needs_identity:
            if accumulator.unfinished:
                self.identity.ask(now_ms)
            return
        if not accumulator.due:
            return
        for node_id, lanes in self._gather(now_ms).items():
            left = lanes
            while left and self._asked.get(node_id, 0) < self._config.max_in_flight:
                left = self._send(node_id, left, now_ms)

    def _expire(self, now_ms: int) -> None:
        """Batches end in the order they began: the delivery timeout is the same for all."""
        late: list[Batch] = []
        for batch in self._accumulator.unfinished:
            if batch.expires_at > now_ms:
                break
            late.append(batch)
        for batch in late:
            lane = self._accumulator.lanes[batch.tp]
            if batch.state is not BatchState.SENT:
                lane.queue.remove(batch)
            timeout_ms = self._config.delivery_timeout_ms
            text = (
                f"{batch.record_count} records for {batch.tp.topic}-{batch.tp.partition} were not "
                f"delivered within delivery_timeout_ms={timeout_ms}: the batch "
                f"{self._why_late(lane, batch, now_ms)}{self._refusal(batch)}"
            )
            lane.drop(batch, certain=False)
            self._fail(batch, KafkaTimeoutError(text, timeout_ms=timeout_ms), now_ms)

    def _give_up(self, transaction: Transaction, now_ms: int) -> None:
        """What the state of a transaction leaves undone. A batch that was sent goes on: whether it
        was written has to be known before the transaction ends.
        """
        error = transaction.fatal_error
        if error is not None:
            self.fail_everything(error, now_ms)
            return
        error = transaction.batch_error
        if error is None:
            return
        for batch in [*self._accumulator.unfinished]:
            if batch.state is not BatchState.SENT and not batch.has_sequence:
                lane = self._accumulator.lanes[batch.tp]
                lane.queue.remove(batch)
                if lane.idle:  # what it waited for concerns the next transaction no more
                    lane.retry_at = lane.failures = 0
                batch.error = error
                self._measures.failed(batch, now_ms)
                self._end(batch)

    def _why_late(self, lane: Lane, batch: Batch, now_ms: int) -> str:
        if batch.trouble:
            sent = f"sent {batch.attempts} times, at last" if batch.attempts else "never sent"
            return f"was {sent}: {batch.trouble}"
        if batch.attempts:
            return "was not answered"
        if self._needs_identity:
            return "waited for a producer id, which no broker gave"
        leader = self._cluster.leader(lane.tp)
        if leader is None:
            return "was never sent: no leader is known"
        if self._links.reach(leader.node_id, now_ms) is not Reach.READY:
            return f"was never sent: node {leader.node_id}, the leader, could not be reached"
        return "was never sent: it waited behind others"

    def _refusal(self, batch: Batch) -> str:
        """Why the leader does not let us in now, if so: the last attempt may have died before."""
        leader = self._cluster.leader(batch.tp)
        refusal = None if leader is None else self._links.refusal(leader.node_id)
        if refusal is None or str(refusal) == batch.trouble:
            return ""
        return f"; the leader does not let this client in: {refusal}"

    # Sending -------------------------------------------------------------------------------------

    def _gather(self, now_ms: int) -> dict[int, list[Lane]]:
        """Lanes that can be sent, by leader, in the order they became due."""
        by_node: dict[int, list[Lane]] = {}
        done: list[Lane] = []
        leader_of = self._cluster.leader
        for lane in self._accumulator.due:
            if not lane.queue:
                done.append(lane)
                continue
            if lane.retry_at > now_ms:
                self._wait_until = min(self._wait_until, lane.retry_at)
                continue
            if not self._may_go(lane):
                continue  # an answer moves it on
            leader = leader_of(lane.tp)
            if leader is not None and leader.node_id in by_node:  # it was asked about just now
                by_node[leader.node_id].append(lane)
            elif self._can_be_asked(lane, leader, now_ms):
                assert leader is not None
                by_node[leader.node_id] = [lane]
        for lane in done:
            del self._accumulator.due[lane]
        return by_node

    def _can_be_asked(self, lane: Lane, leader: Leader | None, now_ms: int) -> bool:
        """Whether there is a leader who can be reached; if not, the lane is left alone for now."""
        if leader is None:
            self._again_later(lane, now_ms)
            return False
        reach = self._links.reach(leader.node_id, now_ms)
        if reach in _REACHABLE:
            return True
        if reach is Reach.BACKOFF:
            lane.retry_at = max(self._links.retry_at(leader.node_id), now_ms + 1)
            self._wait_until = min(self._wait_until, lane.retry_at)
            self._cluster.request_update()
        else:
            self._again_later(lane, now_ms)
        return False

    def _again_later(self, lane: Lane, now_ms: int) -> None:
        """Leave a lane alone for a while, and ask for fresh metadata."""
        config = self._config
        lane.retry_at = now_ms + exponential(
            lane.failures, config.retry_backoff_ms, config.retry_backoff_max_ms, self._rng
        )
        lane.failures += 1
        self._wait_until = min(self._wait_until, lane.retry_at)
        self._cluster.request_update()

    def leaders_changed(self) -> None:
        """Metadata changed: lanes that waited for it need wait no longer."""
        for lane in self._accumulator.due:
            if lane.queue and lane.queue[0].attempts == 0:
                lane.retry_at = 0

    def _send(self, node_id: int, lanes: list[Lane], now_ms: int) -> list[Lane]:
        """One request, with a batch of as many lanes as fit; the lanes that are left."""
        config = self._config
        batches: list[Batch] = []
        size = 0
        left: list[Lane] = []
        for lane in lanes:
            head = lane.queue[0]
            if head.state is BatchState.OPEN:
                self._accumulator.seal(head)
            assert head.data is not None
            if batches and size + len(head.data) > config.max_request_size:
                left.append(lane)
                continue
            batches.append(lane.take(sequenced=config.enable_idempotence))
            size += len(head.data)
            self._rotate(lane)
            if lane.queue and lane in self._accumulator.due and self._may_go(lane):
                left.append(lane)
        self._write(node_id, batches, now_ms)
        return left

    def _may_go(self, lane: Lane) -> bool:
        if self.transaction is not None and not self.transaction.admits(lane.tp):
            return False
        if self._config.enable_idempotence:
            topic_id = self._cluster.topic_id(lane.tp.topic)
            if topic_id != lane.topic_id and not lane.moves_to(topic_id):
                return False
            return lane.sendable(self.identity.producer_id, self.identity.producer_epoch)
        # One at a time keeps the order, also while a leader moves to another link.
        return lane.sent == 0 or self._config.max_in_flight > 1

    def _rotate(self, lane: Lane) -> None:
        """A lane had its turn: behind the others if more of it is due, else no longer due."""
        due = self._accumulator.due
        del due[lane]
        if lane.due:
            due[lane] = None

    def _write(self, node_id: int, batches: list[Batch], now_ms: int) -> None:
        config = self._config
        self._asked[node_id] = self._asked.get(node_id, 0) + 1
        ids = {batch.tp.topic: self._cluster.topic_id(batch.tp.topic) for batch in batches}
        max_version = None if all(ids.values()) else TOPIC_IDS_SINCE - 1
        if self.transaction is not None and self.transaction.explicit:
            max_version = EXPLICIT_MAX
        self._measures.sent(batches, now_ms)
        self._links.send(
            node_id,
            ApiKey.PRODUCE,
            partial(build_produce, config, batches, ids),
            partial(self._answered, self._disowned, node_id, batches, ids, now_ms),
            now_ms,
            timeout_ms=config.request_timeout_ms,
            max_version=max_version,
            answered=config.acks != 0,
        )

    # Answers -------------------------------------------------------------------------------------

    def _answered(
        self,
        disowned: int,
        node_id: int,
        batches: list[Batch],
        ids: Mapping[str, bytes | None],
        began_at: int,
        answer: Answer,
        now_ms: int,
    ) -> None:
        if disowned != self._disowned:
            return
        self._asked[node_id] -= 1
        self._measures.answered(node_id, began_at, now_ms)
        for batch in batches:
            self._accumulator.lanes[batch.tp].sent -= 1
        if answer.body is None:
            for batch in batches:
                if answer.error is None:  # acks=0: written is all there is to know
                    self._deliver(batch)
                else:
                    if answer.version < 0:  # it was never written (Java: not drained)
                        batch.attempts -= 1
                    self._suffer(batch, None, answer.error, now_ms)
            return
        endpoints = {
            one.node_id: Node(one.node_id, one.host, one.port, one.rack)
            for one in answer.body.node_endpoints
        }
        found = read_answer(answer.body, ids)
        for batch in batches:
            part = found.get(batch.tp)
            if part is None:
                self._suffer(batch, None, errors.Unexpected("left out of the answer"), now_ms)
            elif part.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                batch.base_offset = part.base_offset
                batch.log_append_time_ms = part.log_append_time_ms
                batch.log_start_offset = part.log_start_offset
                self._deliver(batch)
            else:
                self._judge(batch, part, node_id, endpoints, now_ms)

    def _deliver(self, batch: Batch) -> None:
        lane = self._accumulator.lanes[batch.tp]
        lane.failures = 0
        lane.acknowledge(batch)
        self._end(batch)
        self._resolve(lane)

    def _judge(
        self, batch: Batch, part: Any, node_id: int, endpoints: dict[int, Node], now_ms: int
    ) -> None:
        """A batch was refused, by `node_id`: see the module's text."""
        lane = self._accumulator.lanes[batch.tp]
        code = part.error_code
        kind = errors.for_code(code)
        where = f"{batch.tp.topic}-{batch.tp.partition}"
        detail = f": {part.error_message}" if part.error_message else ""
        if code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT and self._config.enable_idempotence:
            detail += _OLD_FORMAT
        if code == ErrorCode.MESSAGE_TOO_LARGE and batch.data is not None:
            size = len(batch.data)
            detail += f": a batch of {size} bytes is more than the topic's max.message.bytes"
        if self.transaction is not None:
            detail += self.transaction.hint(code)
        error = kind(f"{batch.record_count} records for {where} were refused{detail}")
        if isinstance(error, errors.TopicAuthorizationFailedError):
            error.topics = frozenset({batch.tp.topic})
        if batch.done:
            return  # it was late, and nobody waits any more
        if code == ErrorCode.MESSAGE_TOO_LARGE and batch.record_count > 1:
            self._split(lane, batch, now_ms)
        elif code in _NEW_EPOCH and batch.has_sequence:
            self._out_of_order(lane, batch, error, now_ms)
        elif part.record_errors:
            splitting.blame(batch, part.record_errors, kind, where)
            lane.drop(batch, certain=True)
            self._fail(batch, batch.error or error, now_ms)
        elif isinstance(error, errors.InvalidMetadataError) and self._leader_moved(
            batch, part.current_leader, node_id, endpoints
        ):
            batch.attempts -= 1
            self._retry(lane, batch, at_ms=0)
        else:
            self._suffer(batch, part, error, now_ms)

    def _leader_moved(
        self, batch: Batch, told: Any, node_id: int, endpoints: dict[int, Node]
    ) -> bool:
        """Whether another node than the one that refused a batch is known to lead."""
        if told.leader_id >= 0:
            leader = Leader(told.leader_id, told.leader_epoch)
            self._cluster.learn_leader(batch.tp, leader, endpoints.get(told.leader_id))
        known = self._cluster.leader(batch.tp)
        return known is not None and known.node_id != node_id

    def _suffer(self, batch: Batch, part: Any, error: KafkaError, now_ms: int) -> None:
        """An attempt failed: another one, if that may help and there is time for it."""
        lane = self._accumulator.lanes[batch.tp]
        retriable = error.retriable or isinstance(error, _PASSES)
        if batch.done:
            return
        batch.trouble = str(error)
        if retriable and batch.attempts <= self._config.retries:
            self._retry(lane, batch, at_ms=now_ms + self._backoff_ms(batch, error))
            if part is None or isinstance(error, errors.InvalidMetadataError):
                self._cluster.request_update()
        else:
            # What the leader has not answered it may have, unless it was never written.
            answered = part is not None or not batch.attempts
            lane.drop(batch, certain=answered and not retriable)
            self._fail(batch, error, now_ms)

    def _backoff_ms(self, batch: Batch, error: KafkaError) -> int:
        config = self._config
        base_ms, before = config.retry_backoff_ms, max(batch.attempts - 1, 0)
        if self.transaction is not None and isinstance(error, errors.ConcurrentTransactionsError):
            base_ms = min(base_ms, _MARKERS_MS)
        return exponential(before, base_ms, config.retry_backoff_max_ms, self._rng)

    def _retry(self, lane: Lane, batch: Batch, at_ms: int) -> None:
        lane.put_back(batch)
        lane.retry_at = max(lane.retry_at, at_ms) if at_ms else 0
        self._accumulator.due[lane] = None

    def _split(self, lane: Lane, batch: Batch, now_ms: int) -> None:
        """Too large as a whole: its parts take its place, and its sequence."""
        parts = splitting.split(batch, self._config)
        self._measures.split(now_ms)
        if batch in lane.tracked:
            at = lane.tracked.index(batch)
            lane.tracked[at : at + 1] = parts
        for part in parts:  # not simply first: one before it may be back already
            lane.put_back(part)
        self._accumulator.replace(batch, parts)
        self._replaced(batch, parts)
        self._accumulator.due[lane] = None

    # Sequences -----------------------------------------------------------------------------------

    def _out_of_order(self, lane: Lane, batch: Batch, error: KafkaError, now_ms: int) -> None:
        if batch.attempts > self._config.retries:
            self._suffer(batch, None, error, now_ms)
            return
        alone = batch.sent_as == batch.identity and lane.tracked[0] is batch
        if self.transaction is not None and (
            alone or isinstance(error, errors.InvalidProducerEpochError)
        ):
            lane.drop(batch, certain=False)  # the transaction is aborted, under another epoch
            self._fail(batch, error, now_ms)
            return
        self._retry(lane, batch, at_ms=now_ms + self._backoff_ms(batch, error))
        if alone:
            self._begin_anew(lane)  # all before it is over, so there is a gap: it cannot be filled
        # Else it was numbered anew meanwhile, or what is before it comes first: again is enough.

    def _begin_anew(self, lane: Lane) -> None:
        """Go on under another epoch: the current one, if the lane is behind it, else the next."""
        if self.transaction is not None:
            return  # it has failed, and gets another epoch when it is aborted
        identity = self.identity
        if (lane.producer_id, lane.producer_epoch) == (
            identity.producer_id,
            identity.producer_epoch,
        ):
            identity.raise_epoch()
        if identity.known:
            lane.renumber(identity.producer_id, identity.producer_epoch)

    def _resolve(self, lane: Lane) -> None:
        """A batch is over: if nobody knew whether one was written, it may be known now."""
        if lane.unresolved and not lane.tracked and not lane.resolve():
            self._begin_anew(lane)

    # The end -------------------------------------------------------------------------------------

    def _fail(self, batch: Batch, error: KafkaError, now_ms: int) -> None:
        lane = self._accumulator.lanes[batch.tp]
        if self.transaction is not None and batch.state is not BatchState.DONE:
            self.transaction.batch_failed(error, broken=lane.unresolved)
        batch.error = error
        self._measures.failed(batch, now_ms)
        self._end(batch)
        self._resolve(lane)

    def _end(self, batch: Batch) -> None:
        if batch.state is BatchState.DONE:
            return  # it was late, and nobody waits any more
        batch.finish()
        self._delivered(batch)
        self._accumulator.release(batch)  # behind it: see Accumulator.mend

    # Struck --------------------------------------------------------------------------------------

    def disown(self) -> None:
        """Whatever was asked is asked again, by `mend`: no answer to it counts any more."""
        self._disowned += 1
        self._asked = {}

    def mend(self) -> None:
        """Something was struck, perhaps in the middle of a change, and nothing is under way: every
        batch that is not over is sent again, as what it was.
        """
        for batch in self._accumulator.mend():
            self._delivered(batch)  # again, perhaps: who was told does not mind
            self._accumulator.release(batch)
        for lane in self._accumulator.lanes.values():
            if not (lane.tracked or lane.whole):
                lane.unresolved = True
            self._resolve(lane)

    def fail_everything(self, error: KafkaError, now_ms: int) -> None:
        """Give up every batch there is, sent or not."""
        for batch in [*self._accumulator.unfinished]:
            lane = self._accumulator.lanes[batch.tp]
            if batch.state is not BatchState.SENT:
                lane.queue.remove(batch)
            lane.drop(batch, certain=False)
            self._fail(batch, error, now_ms)
