"""Is the log of a new leader still the one the position was read from? (KIP-320, rules P9-P12)

After an unclean election records that were read can be gone, and others stand at their offsets.
The leader is asked where the epoch of the last record read ends in its log; below the position
means cut off. Java: OffsetsForLeaderEpochClient, SubscriptionState.maybeCompleteValidation.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.connection.calls import Answer, ClusterView, Network
from kcore.errors import (
    KafkaError,
    LogTruncationError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
    for_code,
)
from kcore.events import Event, OffsetReset
from kcore.fetch.config import FetchConfig, ResetStrategy
from kcore.fetch.inquiry import Beside, Inquiry
from kcore.fetch.partition import Partition, Position
from kcore.fetch.positions import Positions
from kcore.fetch.states import PartitionState
from kcore.structs import OffsetAndMetadata, Rng, TopicPartition
from kcore.wire import messages  # hardly ever needed: loaded at first use
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

# Before it the API wants a right (ClusterAction) that consumers do not have.
_USABLE_SINCE = 3

_Asked = dict[TopicPartition, tuple[Partition, Position]]


class Validation:
    """See the module's text. `raise_later` takes what the application must hear of."""

    def __init__(
        self,
        config: FetchConfig,
        network: Network,
        cluster: ClusterView,
        positions: Positions,
        rng: Rng,
        emit: Callable[[Event], None],
        raise_later: Callable[[KafkaError, Partition], None],
        beside: Beside,
    ) -> None:
        self.inquiry = Inquiry(
            config,
            network,
            cluster,
            positions,
            rng,
            PartitionState.AWAIT_VALIDATION,
            self._ask,
            beside,
        )
        self._config = config
        self._network = network
        self._positions = positions
        self._emit = emit
        self._raise_later = raise_later

    def _ask(self, node_id: int, partitions: list[Partition], now_ms: int) -> None:
        asked: _Asked = {partition.tp: (partition, _place(partition)) for partition in partitions}
        self._network.send(
            node_id,
            ApiKey.OFFSET_FOR_LEADER_EPOCH,
            lambda _version: _build(asked),
            lambda answer, at_ms: self._answered(asked, answer, at_ms),
            now_ms,
            timeout_ms=self._config.request_timeout_ms,
        )

    def _answered(self, asked: _Asked, answer: Answer, now_ms: int) -> None:
        # A position that moved meanwhile, or that another leader has put in doubt, asks for itself.
        waiting = {
            tp: partition
            for tp, (partition, place) in asked.items()
            if partition.assigned
            and partition.state is PartitionState.AWAIT_VALIDATION
            and _place(partition) == place
        }
        too_old = 0 <= answer.version < _USABLE_SINCE
        if too_old or isinstance(answer.error, UnsupportedVersionError):
            for partition in waiting.values():
                self._positions.validated(partition)  # nobody can tell (P10)
            return
        body: messages.OffsetForLeaderEpochResponse | None = answer.body
        if body is not None:
            for topic in body.topics:
                for end in topic.partitions:
                    found = waiting.pop(TopicPartition(topic.topic, end.partition), None)
                    if found is not None:
                        self._take(found, end, now_ms)
        for partition in waiting.values():
            self.inquiry.again(partition, now_ms, str(answer.error or "left out of the answer"))

    def _take(
        self,
        partition: Partition,
        end: messages.OffsetForLeaderEpochResponse.EpochEndOffset,
        now_ms: int,
    ) -> None:
        code = end.error_code
        if code == ErrorCode.NONE:
            self.judge(partition, end.leader_epoch, end.end_offset, now_ms)
            return
        self.inquiry.again(partition, now_ms, for_code(code).name)
        if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            self._raise_later(
                TopicAuthorizationFailedError(
                    f"not authorized to read topic {partition.tp.topic}",
                    topics=frozenset({partition.tp.topic}),
                ),
                partition,
            )

    def judge(self, partition: Partition, epoch: int, end_offset: int, now_ms: int) -> None:
        """The log holds nothing of `epoch` or before from `end_offset` on (-1: it cannot tell)."""
        unknown = epoch < 0 or end_offset < 0
        if not unknown and end_offset >= partition.offset:
            self._positions.validated(partition)
            return
        policy = self._positions.out_of_range
        if policy is ResetStrategy.NONE:
            self.inquiry.again(partition, now_ms, "the log was truncated")
            divergent = None if unknown else OffsetAndMetadata(end_offset, "", epoch)
            self._raise_later(LogTruncationError({partition.tp: divergent}), partition)
        elif unknown:
            self._positions.out_of_reach(partition, policy)
        else:
            before = partition.offset
            self._positions.truncated(partition, end_offset, epoch)
            self._emit(OffsetReset(partition.tp, end_offset, "truncated", before))


def _place(partition: Partition) -> Position:
    return Position(partition.offset, partition.offset_epoch, partition.leader)


def _build(asked: _Asked) -> messages.OffsetForLeaderEpochRequest:
    request = messages.OffsetForLeaderEpochRequest
    topics: dict[str, messages.OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = {}
    for tp, (_, place) in asked.items():
        topic = topics.get(tp.topic)
        if topic is None:
            topic = topics[tp.topic] = request.OffsetForLeaderTopic(topic=tp.topic)
        topic.partitions.append(
            request.OffsetForLeaderPartition(
                partition=tp.partition,
                current_leader_epoch=-1 if place.leader is None else place.leader.epoch,
                leader_epoch=place.epoch,
            )
        )
    return request(replica_id=-1, topics=list(topics.values()))
