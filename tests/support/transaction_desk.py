"""A transaction without a producer: what it asks is kept, and answered by hand."""

import random

from kcore import errors
from kcore.connection.calls import Answer, Reach
from kcore.produce.config import ProduceConfig
from kcore.produce.identity import Identity
from kcore.produce.transaction import Transaction
from kcore.produce.transaction_states import TxnState
from kcore.structs import TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
S = TxnState


class Links:
    """Keeps what is asked; every node can be reached."""

    def __init__(self, level, init_version):
        self.level = level
        self.highest = {ApiKey.INIT_PRODUCER_ID: init_version}
        self.asked = []
        self.reachable = Reach.READY
        self.nodes = {}

    def send(self, node, api, build, done, now_ms, *, max_version=None, **_):
        self.asked.append((node, api, build, done, max_version))

    def reach(self, node, now_ms):
        return self.reachable

    def least_loaded(self, now_ms):
        return 1

    def next_retry_at(self):
        return 0

    def add_coordinator(self, node_id, host, port):
        return 1_000 + node_id

    def version_of(self, node, api, max_version=None):
        return API_TABLE[api].max_version

    def feature_level(self, name):
        return self.level if name == "transaction.version" else 0


class Desk:
    """A transaction, who asks for it, and the one who answers."""

    def __init__(self, *, level=0, init_version=5, **options):
        self.config = ProduceConfig(transactional_id="x", **options)
        self.links = Links(level, init_version)
        self.identity = Identity(self.config, self.links, random.Random(1), None)
        self.idle = True
        self.shut = 0
        self.ended = {}
        self.now = 0
        self.operations = 0
        self.transaction = Transaction(
            self.config,
            self.links,
            self.identity,
            random.Random(1),
            idle=lambda: self.idle,
            closed=self._shut,
            finish=lambda operation, result, error: self.ended.__setitem__(operation, error),
        )

    def _shut(self):
        self.shut += 1

    @property
    def state(self):
        return self.transaction.state

    def begin_verb(self, verb, *given):
        self.operations += 1
        verb(self.operations, *given)
        return self.operations

    def request(self, api):
        """What is asked now, which has to be this."""
        for _ in range(3):
            if self.links.asked:
                break
            self.now = max(self.now, min(self.transaction.deadline(), self.now + 60_000))
            self.transaction.handle_tick(self.now)
        (_, found, build, self._done, max_version) = self.links.asked.pop()
        assert not self.links.asked
        assert found is api
        highest = self.links.highest.get(api, API_TABLE[api].max_version)
        self.version = highest if max_version is None else min(highest, max_version)
        return build(self.version)

    def answer(self, body):
        self._done(Answer(body, None, self.version, 1), self.now)

    def fail(self, error):
        self._done(Answer(None, error, -1, 1), self.now)

    def nothing(self):
        self.transaction.handle_tick(self.now + 60_000)
        assert not self.links.asked

    # What a coordinator says.

    def find(self, key="x", code=0):
        request = self.request(ApiKey.FIND_COORDINATOR)
        assert request.coordinator_keys == [key]
        found = m.FindCoordinatorResponse.Coordinator
        one = found(key=key, node_id=7, host="h", port=9, error_code=code)
        self.answer(m.FindCoordinatorResponse(coordinators=[one]))

    def init(self, code=0, producer=(5, 0)):
        request = self.request(ApiKey.INIT_PRODUCER_ID)
        found = m.InitProducerIdResponse(producer_id=producer[0], producer_epoch=producer[1])
        if code:
            found = m.InitProducerIdResponse(error_code=code)
        self.answer(found)
        return request

    def add(self, *codes):
        request = self.request(ApiKey.ADD_PARTITIONS_TO_TXN)
        R = m.AddPartitionsToTxnResponse
        topics = []
        codes = iter(codes or [0] * 10)
        for topic in request.v3_and_below_topics:
            results = [
                R.AddPartitionsToTxnPartitionResult(
                    partition_index=number, partition_error_code=next(codes)
                )
                for number in topic.partitions
            ]
            topics.append(
                R.AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=results)
            )
        self.answer(R(results_by_topic_v3_and_below=topics))
        return request

    def add_offsets(self, code=0):
        request = self.request(ApiKey.ADD_OFFSETS_TO_TXN)
        self.answer(m.AddOffsetsToTxnResponse(error_code=code))
        return request

    def commit_offsets(self, *codes):
        request = self.request(ApiKey.TXN_OFFSET_COMMIT)
        R = m.TxnOffsetCommitResponse
        codes = iter(codes or [0] * 10)
        topics = [
            R.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    R.TxnOffsetCommitResponsePartition(
                        partition_index=one.partition_index, error_code=next(codes)
                    )
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        self.answer(R(topics=topics))
        return request

    def end(self, code=0, producer=(-1, -1)):
        request = self.request(ApiKey.END_TXN)
        id_, epoch = producer
        self.answer(m.EndTxnResponse(error_code=code, producer_id=id_, producer_epoch=epoch))
        return request


def ready(**options):
    desk = Desk(**options)
    operation = desk.begin_verb(desk.transaction.initialize)
    desk.find()
    desk.init()
    assert desk.ended == {operation: None}
    desk.transaction.heard()
    return desk


def begun(**options):
    """In a transaction of which t-0 is a part."""
    desk = ready(**options)
    desk.transaction.begin()
    if desk.transaction.explicit:
        assert not desk.transaction.admits(T0)
        desk.add()
    assert desk.transaction.admits(T0)
    return desk


def in_state(state, **options):
    desk = begun(**options)
    transaction = desk.transaction
    if state is S.UNINITIALIZED:
        desk = Desk(**options)
    elif state is S.INITIALIZING:
        desk = Desk(**options)
        desk.begin_verb(desk.transaction.initialize)
    elif state is S.READY:
        desk = ready(**options)
    elif state is S.COMMITTING:
        desk.begin_verb(transaction.commit)
    elif state is S.ABORTING:
        desk.begin_verb(transaction.abort)
    elif state is S.ABORTABLE_ERROR:
        transaction.batch_failed(errors.RecordListTooLargeError("large"), broken=False)
    elif state is S.FATAL_ERROR:
        transaction.batch_failed(errors.ProducerFencedError("fenced"), broken=False)
    assert desk.state is state
    return desk
