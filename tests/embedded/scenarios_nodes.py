"""Scenarios of three nodes, of which the second dies in the middle of something and comes back."""

import itertools
import json
import time

from raw_client import DEADLINE_S, NOT_READY, Peer
from said import plain
from scenarios_consumer_groups import beat, enter
from scenarios_data import batch, fetch, produce
from scenarios_groups import beating, committing, joining, syncing

from kcore.records import encode_batch
from kcore.records.batches import describe_batches
from kcore.wire import messages as m

NODES = (1, 2, 3)
DEAD = 2
PATIENCE_S = 60
GROUP = 32  # a kind of resource
SCENARIOS = []
TIMES = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": 30_000}


def scenario(function):
    SCENARIOS.append(function)
    return function


def until(done):
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


class Nodes:
    """A peer for each node, and one transcript. kill, revive: what is done to the second."""

    def __init__(self, addresses, tag, kill, revive):
        self.said = []
        self.tag = tag
        self.revive = revive
        self._kill = kill
        self._aliases = {}
        self._peers = dict(zip(NODES, [Peer(at, tag) for at in addresses], strict=True))
        drawn = self._peers[1]._drawn
        for peer in self._peers.values():
            peer.said, peer._drawn = self.said, drawn

    def __getitem__(self, node):
        return self._peers[node]

    def kill(self):
        """Who waits there is told nothing."""
        self._kill()
        self[DEAD].close()
        self[DEAD]._links.clear()

    def note(self, what, value):
        self.said.append((what, value))

    def told(self):
        """The transcript; names that were looked for stand there as what they are."""
        text = json.dumps(plain(self.said))
        for name, alias in self._aliases.items():
            text = text.replace(name, alias)
        return json.loads(text)

    def close(self):
        for peer in self._peers.values():
            peer.close()

    # Topics --------------------------------------------------------------------------------------

    def topic(self, base, nodes, partitions=1):
        """Its replicas, the leader first; its name."""
        name = f"{self.tag}-{base}"
        answer = self.create(base, [nodes] * partitions)
        assert not answer.topics[0].error_code, answer
        for node in NODES:
            until(lambda node=node: not self[node]._metadata(name).error_code)
        until(lambda: self[nodes[0]]._led(name, partitions))
        return name

    def create(self, base, assignments=(), **more):
        Create = m.CreateTopicsRequest
        wanted = Create.CreatableTopic(
            name=f"{self.tag}-{base}", **{"num_partitions": -1, "replication_factor": -1} | more
        )
        wanted.assignments = [
            Create.CreatableReplicaAssignment(partition_index=number, broker_ids=nodes)
            for number, nodes in enumerate(assignments)
        ]
        return self[1].link().ask(Create(topics=[wanted], timeout_ms=10_000), 7)

    def placed(self, name):
        """Of each partition: who leads, who has a replica, who is in sync."""
        return [
            (one.partition_index, one.leader_id, one.replica_nodes, sorted(one.isr_nodes))
            for one in self[1]._metadata(name).partitions
        ]

    def leader(self, name):
        """Who leads once the first leader is dead."""
        until(lambda: self[1]._metadata(name).partitions[0].leader_id not in {-1, DEAD})
        node = self[1]._metadata(name).partitions[0].leader_id
        until(lambda: self[node]._led(name, 1))
        return node

    def whole(self, name):
        """Whether all replicas are in sync."""
        return all(sorted(row[2]) == row[3] for row in self.placed(name))

    # Coordinators --------------------------------------------------------------------------------

    def coordinator(self, name, kind=0):
        asked = m.FindCoordinatorRequest(coordinator_keys=[name], key_type=kind)
        (found,) = self[1].link().ask(asked, 4).coordinators
        return None if found.error_code else found.node_id

    def named(self, base, node, kind=0):
        """A group, or a transactional id (kind 1), that a node keeps."""
        for number in itertools.count():
            name = f"{self.tag}-{base}-{number}"
            until(lambda name=name: self.coordinator(name, kind) is not None)
            if self.coordinator(name, kind) == node:
                break
            assert number < PATIENCE_S
        self._aliases[name] = f"<{base}>"
        self.serving(name, node, kind)
        return name

    def moved(self, name, kind=0):
        """Who keeps it once the second node is dead."""
        until(lambda: self.coordinator(name, kind) not in {None, DEAD})
        node = self.coordinator(name, kind)
        self.serving(name, node, kind)
        return node

    def serving(self, name, node, kind):
        def is_ready():  # a heartbeat would be answered before
            if kind:
                return self.transaction(name, node).error_code not in NOT_READY
            (found,) = self[node].link().ask(m.DescribeGroupsRequest(groups=[name]), 5).groups
            return found.error_code not in NOT_READY

        until(is_ready)

    def transaction(self, name, node):
        asked = m.DescribeTransactionsRequest(transactional_ids=[name])
        return self[node].link().ask(asked, 0).transaction_states[0]


class Producer:
    """A transactional one, at the node that it is told."""

    def __init__(self, nodes, name, node):
        self.nodes = nodes
        self.name = name
        self.sequence = 0
        request = m.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        answer = nodes[node].ready(request, 5)
        assert not answer.error_code, answer
        self.id, self.epoch = answer.producer_id, answer.producer_epoch
        nodes[node].number("producer", self.id)

    def write(self, node, topic, note, sequence=None):
        if sequence is None:
            sequence, self.sequence = self.sequence, self.sequence + 1
        data = encode_batch(
            [(time.time_ns() // 1_000_000, b"k", note.encode())],
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        answer = self.nodes[node].link().ask(produce(topic, data, transactional_id=self.name), 12)
        (part,) = answer.responses[0].partition_responses
        self.nodes.note(note, (part.error_code, part.base_offset, part.log_start_offset))

    def describe(self, node, note):
        found = self.nodes.transaction(self.name, node)
        found.transaction_start_time_ms = min(found.transaction_start_time_ms, 0)
        self.nodes.note(note, self.nodes[node].plain(found))

    def end(self, node, *, committed):
        request = m.EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.id,
            producer_epoch=self.epoch,
            committed=committed,
        )
        answer = self.nodes[node].ask(request, 5, note=f"committed: {committed}")
        self.id, self.epoch, self.sequence = answer.producer_id, answer.producer_epoch, 0

        def complete():
            state = self.nodes.transaction(self.name, node).transaction_state
            return state.startswith("Complete")

        until(complete)
        self.describe(node, "ended")


def look(nodes, node, topic, note):
    """What is read there at both levels."""
    for level in (0, 1):
        answer = nodes[node].link().ask(fetch(topic, isolation_level=level), 12)
        (part,) = answer.responses[0].partitions
        batches = [
            (one.base_offset, one.last_offset, one.producer_epoch, one.base_sequence, one.control)
            for one in describe_batches(bytes(part.records or b""))
        ]
        aborted = [one.first_offset for one in part.aborted_transactions or ()]
        ends = part.error_code, part.high_watermark, part.last_stable_offset
        nodes.note(f"{note}, {level}", (ends, batches, aborted))


def offsets_of(nodes, node, group, note):
    Fetch = m.OffsetFetchRequest
    for stable in (True, False):
        wanted = Fetch.OffsetFetchRequestGroup(group_id=group, topics=None)
        asked = Fetch(groups=[wanted], require_stable=stable)
        nodes[node].ask(asked, 8, note=f"{note}, {stable}")


@scenario
def join_under_way(nodes):
    """One waits in a JoinGroup while the coordinator dies: for the next one it never came."""
    topic, group = nodes.topic("t", [1, 2, 3]), nodes.named("group", DEAD)
    first = nodes[DEAD].ask(joining(group, **TIMES), 3, note="first")
    member, generation = first.member_id, first.generation_id
    nodes[DEAD].ask(syncing(group, generation, member, [(member, b"plan")]), 3)
    nodes[DEAD].ask(committing(group, topic, 5, generation, member), 7)
    nodes[DEAD].send(joining(group, **TIMES), 3, link="waits")

    def is_waiting():
        asked = m.DescribeGroupsRequest(groups=[group])
        (found,) = nodes[DEAD].link().ask(asked, 5).groups
        return found.group_state == "PreparingRebalance"

    until(is_waiting)
    nodes[DEAD].ask(beating(group, generation, member), 3, note="is to join again")
    nodes.kill()
    node = nodes.moved(group)
    nodes[node].ask(m.DescribeGroupsRequest(groups=[group]), 5, note="moved")
    nodes[node].ask(beating(group, generation, member), 3)
    nodes[node].ask(syncing(group, generation, member), 3)
    nodes[node].ask(committing(group, topic, 6, generation, member), 7)
    nodes[node].ask(committing(group, topic, 7, generation + 1, member), 7, note="not yet")
    offsets_of(nodes, node, group, "offsets")
    nodes[node].ask(joining(group, member, **TIMES), 3, note="again")


@scenario
def static_place_kept(nodes):
    """Who has a place at a coordinator that is dead takes it at the next one."""
    group, mine = nodes.named("group", DEAD), {"group_instance_id": "i"}
    first = nodes[DEAD].ask(joining(group, instance="i", **TIMES), 5)
    old, generation = first.member_id, first.generation_id
    nodes[DEAD].ask(syncing(group, generation, old, [(old, b"plan")], **mine), 3)
    nodes.kill()
    node = nodes.moved(group)
    new = nodes[node].ask(joining(group, instance="i", **TIMES), 5, note="again")
    nodes[node].ask(beating(group, generation, old, **mine), 3, note="who was it before")
    nodes[node].ask(syncing(group, new.generation_id, new.member_id, **mine), 3)
    nodes[node].ask(m.DescribeGroupsRequest(groups=[group]), 5)


@scenario
def revocation_under_way(nodes):
    """Of a consumer group: who is to give something up does, at the next coordinator."""
    topic, group = nodes.topic("t", [1, 2, 3], 2), nodes.named("group", DEAD)
    topic_id = nodes[1].id_of(topic)
    one = nodes[DEAD].ready(enter(group, "m1", [topic]), 1)
    nodes[DEAD].number("member", one.member_id, "m2")
    other = nodes[DEAD].ready(enter(group, "m2", [topic]), 1)
    both = {topic_id: [0, 1]}
    nodes[DEAD].ask(beat(group, "m1", one.member_epoch, owned=both), 1, note="has both")
    nodes.kill()
    node = nodes.moved(group)
    nodes[node].ask(beat(group, "m2", other.member_epoch), 1, note="waits")
    nodes[node].ask(beat(group, "m1", one.member_epoch, owned=both), 1, note="still has both")
    answer = nodes[node].ask(beat(group, "m1", one.member_epoch, owned={topic_id: [0]}), 1)
    nodes[node].ask(beat(group, "m2", other.member_epoch), 1, note="gets the other")
    nodes[node].ask(beat(group, "m2", 7), 1, note="an epoch that never was")
    nodes[node].ask(committing(group, topic, 3, answer.member_epoch, "m1"), 9)


@scenario
def transactions_of_a_coordinator(nodes):
    """What is open goes on, and ends, at the next one."""
    topic, name = nodes.topic("t", [1, 2, 3]), nodes.named("name", DEAD, 1)
    producer = Producer(nodes, name, DEAD)
    producer.write(1, topic, "first")
    nodes.kill()
    node = nodes.moved(name, 1)
    producer.describe(node, "moved")
    producer.write(1, topic, "second")
    look(nodes, 1, topic, "open")
    producer.end(node, committed=True)
    look(nodes, 1, topic, "committed")
    producer.write(1, topic, "third")
    producer.end(node, committed=False)
    look(nodes, 1, topic, "aborted")


@scenario
def transactions_in_a_log(nodes):
    """The next leader knows what of a transaction it has, and what comes next."""
    topic, name = nodes.topic("t", [2, 1, 3]), nodes.named("name", 1, 1)
    producer = Producer(nodes, name, 1)
    producer.write(DEAD, topic, "first")
    nodes.kill()
    node = nodes.leader(topic)
    nodes.note("leads", node)
    nodes[3].ask(produce(topic, batch(b"x")), 9, note="at a follower")
    producer.write(node, topic, "the same again", 0)
    producer.write(node, topic, "second")
    producer.write(node, topic, "too early", 5)
    look(nodes, node, topic, "open")
    producer.end(1, committed=True)
    look(nodes, node, topic, "committed")
    Describe = m.DescribeProducersRequest
    asked = Describe.TopicRequest(name=topic, partition_indexes=[0])
    answer = nodes[node].link().ask(Describe(topics=[asked]), 0)
    for one in answer.topics[0].partitions[0].active_producers:
        nodes.note("writes", (one.producer_epoch, one.last_sequence, one.current_txn_start_offset))


@scenario
def offsets_under_way(nodes):
    """What a transaction is to commit is awaited at the group's next coordinator, too."""
    topic, group = nodes.topic("t", [1, 2, 3]), nodes.named("group", DEAD)
    name = nodes.named("name", 1, 1)
    producer = Producer(nodes, name, 1)
    who = {"transactional_id": name, "producer_id": producer.id, "producer_epoch": producer.epoch}
    nodes[DEAD].ask(committing(group, topic, 2), 7)
    nodes[1].ask(m.AddOffsetsToTxnRequest(group_id=group, **who), 3)
    Commit = m.TxnOffsetCommitRequest
    part = Commit.TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=9, committed_metadata=""
    )
    entry = Commit.TxnOffsetCommitRequestTopic(name=topic, partitions=[part])
    nodes[DEAD].ask(Commit(group_id=group, topics=[entry], **who), 3)
    offsets_of(nodes, DEAD, group, "pending")
    nodes.kill()
    node = nodes.moved(group)
    offsets_of(nodes, node, group, "moved")
    nodes[node].ask(m.DeleteGroupsRequest(groups_names=[group]), 2)
    nodes[node].ask(m.DescribeGroupsRequest(groups=[group]), 5)
    producer.end(1, committed=True)
    offsets_of(nodes, node, group, "committed")


class Sharer:
    """A member of a share group."""

    def __init__(self, nodes, group, topic):
        self.nodes = nodes
        self.topic_id = nodes[1].id_of(topic)
        self.who = {"group_id": group, "member_id": "A" * 22}
        request = m.ShareGroupHeartbeatRequest(**self.who, subscribed_topic_names=[topic])
        assert not nodes[1].ready(request, 1).error_code
        self.epoch = 0

    def fetch(self, node, note, epoch=None):
        """Wait until there is something."""
        if epoch is not None:
            self.epoch = epoch
        Fetch = m.ShareFetchRequest
        topic = Fetch.FetchTopic(
            topic_id=self.topic_id, partitions=[Fetch.FetchPartition(partition_index=0)]
        )
        end = time.monotonic() + DEADLINE_S
        while True:
            request = Fetch(
                **self.who, share_session_epoch=self.epoch, max_wait_ms=500, max_bytes=1 << 20,
                max_records=500, batch_size=500, topics=[topic],
            )  # fmt: skip
            answer = self.nodes[node].link().ask(request, 1)
            self.epoch += not answer.error_code
            parts = [part for entry in answer.responses for part in entry.partitions]
            if answer.error_code or any(part.acquired_records for part in parts):
                break
            assert time.monotonic() < end
        acquired = [
            (one.first_offset, one.last_offset, one.delivery_count)
            for part in parts
            for one in part.acquired_records
        ]
        self.nodes.note(note, (answer.error_code, acquired))

    def acknowledge(self, node, note, *batches):
        Tell = m.ShareAcknowledgeRequest
        part = Tell.AcknowledgePartition(
            partition_index=0,
            acknowledgement_batches=[
                Tell.AcknowledgementBatch(first_offset=at, last_offset=at, acknowledge_types=[kind])
                for at, kind in batches
            ],
        )
        topic = Tell.AcknowledgeTopic(topic_id=self.topic_id, partitions=[part])
        request = Tell(**self.who, share_session_epoch=self.epoch, topics=[topic])
        answer = self.nodes[node].link().ask(request, 1)
        self.epoch += not answer.error_code
        codes = [part.error_code for entry in answer.responses for part in entry.partitions]
        self.nodes.note(note, (answer.error_code, codes))


@scenario
def acquired_records(nodes):
    """What a dead leader had handed out is there for the next one, but for what was told to it."""
    topic, group = nodes.topic("t", [2, 1, 3]), nodes.named("group", 1)
    Alter = m.IncrementalAlterConfigsRequest
    option = Alter.AlterableConfig(name="share.auto.offset.reset", value="earliest")
    wanted = Alter.AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=[option])
    nodes[1].link().ask(Alter(resources=[wanted]), 1)
    nodes[DEAD].link().ask(produce(topic, batch(b"a", b"b", b"c", b"d", b"e")), 9)
    sharer = Sharer(nodes, group, topic)
    accept, release, reject = 1, 2, 3
    sharer.fetch(DEAD, "first")
    sharer.acknowledge(DEAD, "told", (0, accept), (2, release), (3, reject))
    nodes.kill()
    node = nodes.leader(topic)
    sharer.acknowledge(node, "told the next", (1, accept))
    sharer.fetch(node, "in a session that is gone")
    sharer.fetch(node, "from the next", epoch=0)
    sharer.acknowledge(node, "told again", (1, accept), (2, release))
    sharer.acknowledge(node, "told what was rejected", (3, accept))
    sharer.fetch(node, "what was released")


@scenario
def replicas_on_a_node_that_is_down(nodes):
    """It gets them as any other node, but never all; it is told of to who asks for such nodes."""
    other = nodes.topic("other", [2])
    Grow = m.CreatePartitionsRequest
    grown = nodes.topic("grown", [1, 3])
    nodes.kill()
    until(lambda: nodes[1]._metadata(other).partitions[0].leader_id == -1)
    for fenced in (False, True):
        answer = nodes[1].link().ask(m.DescribeClusterRequest(include_fenced_brokers=fenced), 2)
        nodes.note(fenced, sorted((one.broker_id, one.is_fenced) for one in answer.brokers))
    Describe = m.DescribeTopicPartitionsRequest
    answer = nodes[1].link().ask(Describe(topics=[Describe.TopicRequest(name=other)]), 0)
    (part,) = answer.topics[0].partitions
    nodes.note("nobody leads", (part.error_code, part.leader_id, part.offline_replicas))
    for base, assignments, more in (
        ("three", (), {"num_partitions": 4, "replication_factor": 3}),
        ("two", (), {"num_partitions": 4, "replication_factor": 2}),
        ("one", (), {"num_partitions": 4, "replication_factor": 1}),
        ("four", (), {"num_partitions": 1, "replication_factor": 4}),
        ("first", [[2, 1]], {}),
        ("last", [[1, 2]], {}),
        ("alone", [[2]], {}),
        ("second", [[1], [2]], {}),
        ("nowhere", [[1, 9]], {}),
    ):
        (made,) = nodes.create(base, assignments, **more).topics
        nodes.note(base, (made.error_code, bool(made.error_message), made.replication_factor))
        if made.error_code:
            continue
        until(lambda name=made.name: not nodes[1]._metadata(name).error_code)
        rows = nodes.placed(made.name)
        if assignments:
            nodes.note(base, rows)
        else:  # where it begins is drawn
            leads = sorted({row[1] for row in rows} - {1, 3})
            have, insync = ({node for row in rows for node in row[at]} for at in (2, 3))
            nodes.note(base, (leads, sorted(have), sorted(insync)))
    for placed in ([[2]], [[2, 3]]):
        part = [Grow.CreatePartitionsAssignment(broker_ids=one) for one in placed]
        entry = Grow.CreatePartitionsTopic(name=grown, count=2, assignments=part)
        nodes[1].ask(Grow(topics=[entry], timeout_ms=5_000), 3, note=f"{placed}")
    until(lambda: len(nodes.placed(grown)) == 2)
    nodes.note("grown", nodes.placed(grown))
    nodes.revive()
    for name in (f"{nodes.tag}-three", f"{nodes.tag}-first", grown):
        until(lambda name=name: nodes.whole(name))
