"""Scenarios of transactions: what coordinators, logs and groups say of them."""

import struct
import time

from raw_client import DEADLINE_S
from scenarios_data import batch, fetch, produce, scenario

from kcore.records import encode_batch
from kcore.records.batches import describe_batches
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode
from kcore.wire.message import ZERO_UUID

OLD, NEW = 4, 5  # versions of EndTxn: without and with an epoch for each transaction
WRITING = ("PrepareCommit", "PrepareAbort")


class Producer:
    """A transactional producer that says exactly what it is told to."""

    def __init__(self, peer, name, version=NEW, link="p"):
        self.peer = peer
        self.name = name
        self.version = version
        self.link = link
        self.id = self.epoch = -1
        self.sequences = {}

    def ask(self, message, version, note):
        return self.peer.ask(message, version, self.link, f"{note} {self.name[-3:]}")

    def settle(self):
        """Wait until the markers of the last transaction are written."""
        end = time.monotonic() + DEADLINE_S
        asked = m.DescribeTransactionsRequest(transactional_ids=[self.name])
        while True:
            (found,) = self.peer.link(self.link).ask(asked, 0).transaction_states
            if found.transaction_state not in WRITING:
                return
            assert time.monotonic() < end
            time.sleep(0.005)

    def find(self):
        asked = m.FindCoordinatorRequest(key_type=1, coordinator_keys=[self.name])
        end = time.monotonic() + DEADLINE_S
        while True:
            (found,) = self.peer.link(self.link).ask(asked, 4).coordinators
            if not found.error_code:
                return
            assert time.monotonic() < end
            time.sleep(0.05)

    def init(self, version=None, timeout_ms=60_000, known=(-1, -1), note="init"):
        request = m.InitProducerIdRequest(
            transactional_id=self.name,
            transaction_timeout_ms=timeout_ms,
            producer_id=known[0],
            producer_epoch=known[1],
        )
        answer = self.ask(request, version or (5 if self.version == NEW else 4), note)
        if not answer.error_code:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return answer

    def add(self, *partitions, epoch=None, version=3):
        request = m.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch if epoch is None else epoch,
            v3_and_below_topics=[
                m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=[number])
                for topic, number in partitions
            ],
        )
        return self.ask(request, version, "add")

    def write(self, topic, value, partition=0, *, epoch=None, sequence=None, version=None, **more):
        if sequence is None:
            sequence = self.sequences.get((topic, partition), 0)
            self.sequences[topic, partition] = sequence + 1
        data = encode_batch(
            # A marker has the time of day: older batches would be in a segment of their own.
            [(time.time_ns() // 1_000_000, b"k", value)],
            producer_id=self.id,
            producer_epoch=self.epoch if epoch is None else epoch,
            base_sequence=sequence,
            **{"transactional": True} | more,
        )
        request = produce(topic, data, partition, transactional_id=self.name)
        version = version or (12 if self.version == NEW else 11)
        answer = self.peer.link(self.link).ask(request, version)
        for part in answer.responses[0].partition_responses:
            part.log_append_time_ms = min(part.log_append_time_ms, 0)
        self.peer.said.append((f"write v{version} {self.name[-3:]}", self.peer.plain(answer)))
        return answer

    def end(self, committed=True, *, epoch=None, version=None, settle=True):
        request = m.EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.id,
            producer_epoch=self.epoch if epoch is None else epoch,
            committed=committed,
        )
        answer = self.ask(request, version or self.version, "commit" if committed else "abort")
        if not answer.error_code and answer.producer_id >= 0:
            if (answer.producer_id, answer.producer_epoch) != (self.id, self.epoch):
                self.sequences.clear()
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
        if settle:
            self.settle()
        return answer

    def describe(self):
        asked = m.DescribeTransactionsRequest(transactional_ids=[self.name])
        return self.ask(asked, 0, "describe")

    def commit_offset(self, group, topic, offset, version, **more):
        Commit = m.TxnOffsetCommitRequest
        part = Commit.TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=""
        )
        request = Commit(
            transactional_id=self.name,
            group_id=group,
            producer_id=self.id,
            producer_epoch=more.pop("epoch", self.epoch),
            topics=[Commit.TxnOffsetCommitRequestTopic(name=topic, partitions=[part])],
            **more,
        )
        return self.ask(request, version, f"commit offset v{version}")

    def add_offsets(self, group, version=3):
        request = m.AddOffsetsToTxnRequest(
            transactional_id=self.name,
            producer_id=self.id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        return self.ask(request, version, "add offsets")


def served(peer, name):
    """Wait until the id's coordinator serves."""
    unknown = Producer(peer, name)
    unknown.find()
    asked = m.AddOffsetsToTxnRequest(transactional_id=name, producer_id=1, group_id="g")
    peer.ready(asked, 3)


def made(peer, base="x", version=NEW, link="p"):
    producer = Producer(peer, peer.name(base), version, link)
    producer.find()
    first = m.InitProducerIdRequest(transactional_id=producer.name, transaction_timeout_ms=9_000)
    peer.ready(first, 4, link)
    producer.init()
    return producer


def read(peer, topic, level, offset=0, partition=0):
    """What a Fetch says, with the batches told apart; markers have times of their own."""
    answer = peer.link().ask(fetch(topic, offset, partition, isolation_level=level), 12)
    (part,) = answer.responses[0].partitions
    aborted = None
    if part.aborted_transactions is not None:
        aborted = sorted(
            (peer._number("producer", one.producer_id), one.first_offset)
            for one in part.aborted_transactions
        )
    batches = [
        (one.base_offset, one.last_offset, one.producer_epoch, one.base_sequence,
         one.transactional, one.control)
        for one in describe_batches(bytes(part.records or b""))
    ]  # fmt: skip
    said = {
        "code": part.error_code,
        "high_watermark": part.high_watermark,
        "last_stable_offset": part.last_stable_offset,
        "aborted": aborted,
        "batches": batches,
    }
    peer.said.append((f"fetch {level} from {offset}", said))


def ends(peer, topic, level):
    Offsets = m.ListOffsetsRequest
    asked = [Offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)]
    entry = Offsets.ListOffsetsTopic(name=topic, partitions=asked)
    request = Offsets(replica_id=-1, topics=[entry], isolation_level=level)
    peer.ask(request, 4, note=f"ends {level}")


def look(peer, topic):
    for level in (0, 1):
        read(peer, topic, level)
        ends(peer, topic, level)


def producers(peer, topic):
    """DescribeProducers, without what is of the time or of the coordinator's partition."""
    Topic = m.DescribeProducersRequest.TopicRequest
    asked = m.DescribeProducersRequest(topics=[Topic(name=topic, partition_indexes=[0, 7])])
    answer = peer.link().ask(asked, 0)
    for part in answer.topics[0].partitions:
        for one in part.active_producers:
            one.last_timestamp = 0
            one.coordinator_epoch = min(one.coordinator_epoch, 0)
    peer.said.append(("producers", peer.plain(answer)))


def each_version(function):
    for version in (OLD, NEW):

        def run(peer, version=version):
            function(peer, version)

        run.__name__ = f"{function.__name__}_v{version}"
        scenario(run)
    return function


@each_version
def transactions_commit_and_abort(peer, version):
    topic = peer.topic("t")
    one = made(peer, "x", version)
    for committed in (True, False, True):
        if version == OLD:
            one.add((topic, 0))
            one.add((topic, 0))
        for value in (b"a", b"b"):
            one.write(topic, value)
        one.describe_state()
        look(peer, topic)
        producers(peer, topic)
        one.end(committed)
        look(peer, topic)
        producers(peer, topic)
        one.describe_state()
    for level in (0, 1):
        for offset in range(9):
            read(peer, topic, level, offset)


def _describe_state(self):
    """DescribeTransactions without its times."""
    asked = m.DescribeTransactionsRequest(transactional_ids=[self.name, self.name + "-none", ""])
    answer = self.peer.link(self.link).ask(asked, 0)
    for one in answer.transaction_states:
        one.transaction_start_time_ms = min(one.transaction_start_time_ms, 0)
        for topic in one.topics:
            if topic.topic == "__consumer_offsets":
                topic.partitions = [0]
    self.peer.said.append(("describe", self.peer.plain(answer)))


Producer.describe_state = _describe_state


@each_version
def transactions_interleaved(peer, version):
    topic = peer.topic("t")
    one, two = made(peer, "x", version, "p"), made(peer, "y", version, "q")
    for maker in (one, two):
        if version == OLD:
            maker.add((topic, 0))
        maker.write(topic, b"1")
    plain = produce(topic, batch(b"plain"))
    peer.ask(plain, 9)
    one.write(topic, b"2")
    look(peer, topic)
    two.end(False)
    look(peer, topic)
    one.end(True)
    look(peer, topic)
    for offset in range(8):
        read(peer, topic, 1, offset)


@each_version
def transactions_end_again(peer, version):
    topic = peer.topic("t")
    one = made(peer, "x", version)
    one.end(True)
    if version == OLD:
        one.end(False)
    for committed in (True, False):
        if version == OLD:
            one.add((topic, 0))
        one.write(topic, b"v")
        epoch, producer_id = one.epoch, one.id
        one.end(committed)
        one.id = producer_id
        one.end(committed, epoch=epoch)
        one.end(not committed, epoch=epoch)
        one.end(committed, epoch=epoch + 5)
        one.end(committed, epoch=epoch - 1)
        one.describe_state()
    if version == NEW:
        one.end(False)
        one.end(False)
        one.end(True)
        one.describe_state()
    look(peer, topic)


@each_version
def transactions_fenced(peer, version):
    topic = peer.topic("t")
    old = made(peer, "x", version)
    if version == OLD:
        old.add((topic, 0))
    old.write(topic, b"zombie")
    heir = Producer(peer, old.name, version, "q")
    heir.init(note="while open")
    heir.settle()
    heir.init(note="then")
    for old_version in (0, 1, 2, 3):
        old.add((topic, 0), version=old_version)
    old.write(topic, b"late")
    old.write(topic, b"late", sequence=1)
    for end_version in (1, 2, 4, 5):
        old.end(True, version=end_version)
    old.add_offsets("g")
    if version == OLD:
        heir.add((topic, 0))
    heir.write(topic, b"heir")
    old.write(topic, b"late")
    heir.end(True)
    old.init(known=(old.id, old.epoch), version=3, note="known")
    old.init(known=(old.id, old.epoch), version=5, note="known")
    look(peer, topic)
    producers(peer, topic)


@each_version
def transactions_known_producers(peer, version):
    one = made(peer, "x", version)
    first = (one.id, one.epoch)
    one.init(known=first, note="bump")
    one.init(known=first, note="again")
    one.init(known=(one.id, one.epoch), note="bump")
    one.init(known=first, note="too old")
    one.init(known=(one.id + 1_000_000, one.epoch), note="another")
    one.init(known=(one.id, -1), note="half")
    one.init(timeout_ms=0, note="no time")
    one.init(timeout_ms=900_001, note="too much time")
    nobody = Producer(peer, "", version)
    nobody.init(note="empty")


@scenario
def transactions_broken_batches(peer):
    """What is no batch adds no partition to a transaction (KIP-890); one that is wrong does."""
    topic = peer.topic("t", 2)
    one = made(peer, "x", NEW)
    good = batch(b"v", producer_id=one.id, producer_epoch=one.epoch, base_sequence=0,
                 transactional=True)  # fmt: skip
    flipped = bytearray(good)
    flipped[-1] ^= 1
    newer = bytearray(good)
    newer[16] = 3
    broken = {
        "empty": b"", "ten bytes": good[:10], "prefix": good[:20], "header": good[:61],
        "one short": good[:-1], "magic 3": bytes(newer), "two": good * 2,
        "checksum": bytes(flipped),
    }  # fmt: skip
    for name, data in broken.items():
        answer = peer.link("p").ask(produce(topic, data, transactional_id=one.name), 12)
        (part,) = answer.responses[0].partition_responses
        peer.said.append((name, (ErrorCode(part.error_code).name, part.base_offset)))
        one.describe_state()
    one.write(topic, b"v", 1)
    one.end(True)
    look(peer, topic)


@scenario
def transactions_not_added(peer):
    """Before v12 a Produce does not add its partition (KIP-890)."""
    topic = peer.topic("t", 2)
    one = made(peer, "x", OLD)
    for version in (9, 10, 11):
        one.write(topic, b"v", sequence=0, version=version)
    one.add((topic, 0))
    one.write(topic, b"v")
    one.write(topic, b"v", 1, sequence=0)
    one.write(topic, b"v", 1, sequence=0, version=10)
    one.end(True)
    one.write(topic, b"v", sequence=1)
    look(peer, topic)
    data = batch(b"v", producer_id=one.id, producer_epoch=one.epoch, base_sequence=1,
                 transactional=True)  # fmt: skip
    peer.ask(produce(topic, data), 9, note="without its id")
    peer.ask(produce(topic, data, transactional_id=peer.name("nobody")), 11, note="another id")
    one.add((topic, 7))
    one.add((topic, 0), (peer.name("none"), 0))
    one.add(("__consumer_offsets", 0))
    one.name = peer.name("unknown")
    one.add((topic, 0))
    one.end(True)
    one.add_offsets("g")
    one.describe_state()


@scenario
def transactions_sequences(peer):
    topic = peer.topic("t")
    one = made(peer, "x", NEW)
    one.write(topic, b"v", sequence=3)
    one.write(topic, b"v", sequence=0)
    one.write(topic, b"v", sequence=0)
    one.write(topic, b"v", sequence=2)
    one.write(topic, b"v", sequence=1)
    one.write(topic, b"v", sequence=2, transactional=False)
    one.write(topic, b"v", sequence=0, epoch=one.epoch + 1)
    one.write(topic, b"v", sequence=2, epoch=one.epoch - 1)
    one.end(True)
    one.write(topic, b"v", sequence=3)
    one.write(topic, b"v", sequence=0)
    one.end(False)
    look(peer, topic)


@scenario
def transactions_whose_first_batch_is_awaited(peer):
    """By whatever follows, in the way of who was verified first."""
    topic = peer.topic("t", 3)
    one = made(peer, "x", OLD)
    for transactional, sequence in ((True, 3), (False, 4), (False, 3), (False, 4)):
        one.write(topic, b"v", sequence=sequence, transactional=transactional)
    one.add((topic, 0))
    for sequence in (4, 3, 5):
        one.write(topic, b"v", sequence=sequence)
    one.end(True)
    for number, first in ((1, 11), (2, 12)):
        one.write(topic, b"v", number, sequence=5, version=first)
        one.add((topic, number))
        for version, sequence in ((12, 6), (11, 6), (11, 5), (12, 5), (12, 0), (12, 1)):
            one.write(topic, b"v", number, sequence=sequence, version=version)
        one.end(False)
    look(peer, topic)


@scenario
def transactions_control_batches_of_clients(peer):
    topic = peer.topic("t")
    one = made(peer, "x", OLD)
    one.add((topic, 0))
    one.write(topic, struct.pack(">hh", 0, 1), control=True)
    one.write(topic, b"v", control=True, transactional=False)
    data = batch(b"v", transactional=True)
    peer.ask(produce(topic, data, transactional_id=one.name), 11, note="no producer")


@each_version
def transactions_offsets(peer, version):
    topic, group = peer.topic("t"), peer.name("g")
    asked = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    end = time.monotonic() + DEADLINE_S
    while peer.link().ask(asked, 4).coordinators[0].error_code:
        assert time.monotonic() < end
        time.sleep(0.05)
    while peer.link().ask(offsets_request(group, topic, False), 9).groups[0].error_code:
        assert time.monotonic() < end  # a Kafka says where a group is before it is loaded
        time.sleep(0.05)
    one = made(peer, "x", version)
    commit_version = 5 if version == NEW else 4
    one.commit_offset(group, topic, 5, 3)
    one.commit_offset(group, topic, 5, 4)
    if version == OLD:
        one.add_offsets(group)
    one.commit_offset(group, topic, 5, commit_version)
    one.describe_state()
    for stable in (False, True):
        fetch_offsets(peer, group, topic, stable)
    one.end(True)
    wait_stable(peer, group, topic)
    fetch_offsets(peer, group, topic, True)
    if version == OLD:
        one.add_offsets(group)
    one.commit_offset(group, topic, 9, commit_version)
    one.commit_offset(group, topic, 9, commit_version, epoch=one.epoch - 1)
    member = {"generation_id_or_member_epoch": 3, "member_id": "m"}
    one.commit_offset(group, topic, 9, commit_version, **member)
    one.commit_offset(group, topic, 9, commit_version, member_id="m")
    one.commit_offset(group, peer.name("none"), 9, commit_version)
    one.commit_offset("", topic, 9, commit_version)
    one.end(False)
    wait_stable(peer, group, topic)
    fetch_offsets(peer, group, topic, True)


def offsets_request(group, topic, stable):
    Fetch = m.OffsetFetchRequest
    wanted = Fetch.OffsetFetchRequestTopics(name=topic, topic_id=ZERO_UUID, partition_indexes=[0])
    asked = Fetch.OffsetFetchRequestGroup(group_id=group, topics=[wanted])
    return Fetch(groups=[asked], require_stable=stable)


def fetch_offsets(peer, group, topic, stable):
    peer.ask(offsets_request(group, topic, stable), 9, note=f"offsets, stable {stable}")


def wait_stable(peer, group, topic):
    end = time.monotonic() + DEADLINE_S
    while True:
        answer = peer.link().ask(offsets_request(group, topic, True), 9)
        code = answer.groups[0].topics[0].partitions[0].error_code
        if code != ErrorCode.UNSTABLE_OFFSET_COMMIT:
            return
        assert time.monotonic() < end
        time.sleep(0.005)


@scenario
def transactions_by_hand(peer):
    """WriteTxnMarkers, as for a transaction that hangs (KIP-664)."""
    topic = peer.topic("t")
    one = made(peer, "x", OLD)
    one.add((topic, 0))
    one.write(topic, b"v")
    Markers = m.WriteTxnMarkersRequest

    def mark(epoch, version=1, partitions=(0,), coordinator_epoch=0, **more):
        topics = [Markers.WritableTxnMarkerTopic(name=topic, partition_indexes=list(partitions))]
        marker = Markers.WritableTxnMarker(
            producer_id=one.id,
            producer_epoch=epoch,
            topics=topics,
            coordinator_epoch=coordinator_epoch,
            **more,
        )
        answer = peer.link().ask(Markers(markers=[marker]), version)
        peer.said.append((f"mark {epoch}", peer.plain(answer)))

    mark(one.epoch - 1)
    mark(one.epoch, partitions=[0, 7])
    look(peer, topic)
    mark(one.epoch, version=2, transaction_version=2)
    mark(one.epoch, coordinator_epoch=-1)
    producers(peer, topic)
    one.write(topic, b"w")
    look(peer, topic)
    mark(one.epoch, version=2, transaction_version=2)
    mark(one.epoch + 1, version=2, transaction_version=2)
    look(peer, topic)


@scenario
def partitions_of_groups_by_name(peer):
    asked = m.DescribeTransactionsRequest(transactional_ids=[])
    one = made(peer, "x", OLD)
    asked.transactional_ids.append(one.name)
    for number in range(20):  # the hashes of some are below 0
        add = m.AddOffsetsToTxnRequest(
            transactional_id=one.name, producer_id=one.id, producer_epoch=one.epoch,
            group_id=peer.name(f"{number}-of-some-groups" * number),
        )  # fmt: skip
        peer.ask(add, 3, "p")
        (found,) = peer.link().ask(asked, 0).transaction_states
        peer.said.append((f"group {number}", peer.plain(found.topics)))
        one.end(True)
        one.settle()


@scenario
def transactions_listed(peer):
    topic = peer.topic("t")
    one, two = made(peer, "x"), made(peer, "y")
    one.write(topic, b"v")

    def listing(version=2, **filters):
        answer = peer.link().ask(m.ListTransactionsRequest(**filters), version)
        answer.transaction_states = [
            state for state in answer.transaction_states
            if state.transactional_id in {one.name, two.name}
        ]  # fmt: skip
        peer.said.append((f"list v{version} {sorted(filters)}", peer.plain(answer)))

    for version in range(3):
        listing(version)
    listing(state_filters=["Ongoing"])
    listing(state_filters=["Ongoing", "Odd", "Empty", "Dead"])
    listing(state_filters=["Odd"])
    listing(producer_id_filters=[two.id])
    listing(duration_filter=0)
    listing(duration_filter=3_600_000, state_filters=["Ongoing"])
    listing(transactional_id_pattern=".*-x")
    listing(transactional_id_pattern="x")
    listing(transactional_id_pattern="")
    listing(transactional_id_pattern="[")
    one.end(False)
