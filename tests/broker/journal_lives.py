"""Lives of groups of all kinds, and of transactions, at nodes that come and go."""

import random
from collections import Counter
from contextlib import suppress

from broker_world import World, batch, produce

from kcore.assignors import MemberSubscription
from kcore.assignors.blobs import encode_subscription
from kcore.broker import BrokerConfig, reassignment
from kcore.broker.batches import RefusedError
from kcore.coordinator import CoordinatorConfig
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.coordinator.transactions import TransactionConfig
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

CONFIG = BrokerConfig(
    coordinator=CoordinatorConfig(
        offsets_topic_num_partitions=2,
        group_initial_rebalance_delay_ms=0,
        group_min_session_timeout_ms=1_000,
        group_consumer_assignment_interval_ms=0,
        group_share_assignment_interval_ms=0,
        offsets_retention_minutes=2,
        offsets_retention_check_interval_ms=20_000,
    ),
    transactions=TransactionConfig(
        transaction_state_log_num_partitions=2,
        transaction_remove_expired_cleanup_interval_ms=30_000,
        transactional_id_expiration_ms=150_000,
    ),
)
SESSION_MS = 10_000
TOPICS = {"t": 3, "u": 2, "v": 1}


class Actor:
    """Somebody with a name and an epoch in a group, who asks the coordinator that there is."""

    def __init__(self, life, group, name):
        self.life, self.world, self.rng = life, life.world, life.rng
        self.group, self.name = group, name
        self.parked = None  # a connection whose answer is to come
        self.reset()

    def reset(self):
        """It knows nothing of a group."""

    def ask(self, request, version=None):
        """None: nobody is there to ask, or the answer is to come."""
        node_id = self.world.cluster.coordinator_of(self.group)
        return self.at(node_id, request, version)

    def at(self, node_id, request, version=None):
        if node_id not in self.world.cluster.live:
            return None
        client = self.world.client(node_id)
        answer = client.ask(request, version)
        if answer is None and not client.closed:
            self.parked = client
        else:
            client.close()
        return answer

    def beat(self, request, version):
        """The answer to a heartbeat by epochs; None: it is no member, or nothing was answered."""
        answer = self.ask(request, version)
        if answer is None:
            return None
        if answer.error_code or request.member_epoch < 0:
            self.reset()
            return None
        self.epoch = answer.member_epoch
        return answer

    def answered(self):
        """What the parked request got; None: nothing yet."""
        client, answer = self.parked, None
        if client.closed:
            self.parked = None
            self.reset()
        else:
            answer = client.answer()
            if answer is not None:
                self.parked = None
                client.close()
        return answer


class Classic(Actor):
    def reset(self):
        self.member_id, self.generation, self.topics = "", -1, ["t"]
        self.instance = self.name if self.name.endswith("s") else None
        self.stage = "out"

    def step(self):
        if self.parked is not None:
            answer = self.answered()
            if answer is not None:
                self.heard(answer)
            return
        what = self.rng.random()
        if self.stage == "out" or what < 0.1:
            self.topics = self.rng.sample(sorted(TOPICS), self.rng.randint(1, 2))
            self.join()
        elif self.stage == "joined":
            self.sync({})
        elif what < 0.5:
            R = m.HeartbeatRequest
            self.heard(self.ask(R(
                group_id=self.group, member_id=self.member_id, generation_id=self.generation,
                group_instance_id=self.instance), 4))  # fmt: skip
        elif what < 0.8:
            self.life.commit(self, self.generation, self.member_id, self.instance)
        elif what < 0.9:
            R = m.LeaveGroupRequest
            one = R.MemberIdentity(member_id=self.member_id, group_instance_id=self.instance)
            self.ask(R(group_id=self.group, members=[one]), 4)
            self.reset()
        elif what < 0.93:
            self.reset()  # it dies

    def join(self):
        said = encode_subscription(MemberSubscription(topics=tuple(self.topics)))
        R = m.JoinGroupRequest
        request = R(
            group_id=self.group, member_id=self.member_id, group_instance_id=self.instance,
            session_timeout_ms=SESSION_MS, rebalance_timeout_ms=SESSION_MS,
            protocol_type="consumer",
            protocols=[R.JoinGroupRequestProtocol(name="range", metadata=said)],
        )  # fmt: skip
        self.stage = "joining"
        answer = self.ask(request, 9 if self.instance else self.rng.choice([3, 9]))
        if answer is not None:
            self.heard(answer)
        elif self.parked is None:
            self.reset()

    def sync(self, assignments):
        R = m.SyncGroupRequest
        given = [
            R.SyncGroupRequestAssignment(member_id=one, assignment=data)
            for one, data in assignments.items()
        ]
        request = R(
            group_id=self.group, member_id=self.member_id, generation_id=self.generation,
            group_instance_id=self.instance, protocol_type="consumer", protocol_name="range",
            assignments=given,
        )  # fmt: skip
        self.stage = "joined"
        answer = self.ask(request, 5)
        if answer is not None:
            self.heard(answer)

    def heard(self, answer):
        if answer is None:
            return
        code = answer.error_code if hasattr(answer, "error_code") else E.NONE
        if isinstance(answer, m.JoinGroupResponse):
            if code == E.MEMBER_ID_REQUIRED:
                self.member_id = answer.member_id
                self.join()
            elif code:
                self.reset()
            else:
                self.member_id, self.generation = answer.member_id, answer.generation_id
                plan = {one.member_id: b"\0\1" + one.member_id.encode() for one in answer.members}
                self.sync(plan)
        elif isinstance(answer, m.SyncGroupResponse) and not code:
            self.stage = "in"
        elif code == E.REBALANCE_IN_PROGRESS:
            self.join()
        elif code:
            self.reset()


class Consumer(Actor):
    def reset(self):
        self.epoch, self.owned, self.told = 0, [], True
        self.instance = self.name if self.name.endswith("s") else None
        self.id = f"{self.name}-{self.life.fresh()}"

    def step(self):
        what = self.rng.random()
        R = m.ConsumerGroupHeartbeatRequest
        request = R(group_id=self.group, member_id=self.id, member_epoch=self.epoch,
                    instance_id=self.instance)  # fmt: skip
        if self.epoch == 0 or what < 0.15:
            request.rebalance_timeout_ms = SESSION_MS
            request.subscribed_topic_names = self.rng.sample(sorted(TOPICS), self.rng.randint(1, 2))
            request.topic_partitions = [] if self.epoch == 0 else self.having()
            if self.rng.random() < 0.3:
                request.subscribed_topic_regex = self.rng.choice(["t|u", "v.*", "[tv]"])
        elif what < 0.25:
            request.member_epoch = -2 if self.instance and self.rng.random() < 0.6 else -1
        elif what < 0.5:
            self.life.commit(self, self.epoch, self.id, self.instance)
            return
        elif what < 0.55:
            self.reset()
            return
        else:
            request.topic_partitions = self.having()
        answer = self.beat(request, 1)
        if answer is not None and answer.assignment is not None:
            self.owned = [
                (one.topic_id, list(one.partitions)) for one in answer.assignment.topic_partitions
            ]

    def having(self):
        R = m.ConsumerGroupHeartbeatRequest
        return [R.TopicPartitions(topic_id=one, partitions=list(p)) for one, p in self.owned]


class Sharer(Actor):
    def reset(self):
        self.epoch, self.got = 0, []
        self.id = f"{self.name}-{self.life.fresh()}"
        self.session, self.link = 0, None

    def step(self):
        what = self.rng.random()
        R = m.ShareGroupHeartbeatRequest
        if self.epoch and what < 0.5:
            self.read()
            return
        request = R(group_id=self.group, member_id=self.id, member_epoch=self.epoch)
        if self.epoch == 0 or what < 0.6:
            request.subscribed_topic_names = self.rng.sample(sorted(TOPICS), self.rng.randint(1, 2))
        elif what < 0.65:
            request.member_epoch = -1
        answer = self.beat(request, 1)
        if answer is not None and answer.assignment is not None:
            self.got = [
                (one.topic_id, number)
                for one in answer.assignment.topic_partitions
                for number in one.partitions
            ]

    def read(self):
        """A session of its own for one fetch and what is said of it."""
        if not self.got:
            return
        topic_id, number = self.rng.choice(self.got)
        topic = self.world.cluster.topics.get(None, topic_id)
        if topic is None:
            return
        leader = topic.partitions[number].leader
        if leader not in self.world.cluster.live:
            return
        R = m.ShareFetchRequest
        client = self.world.client(leader)
        part = R.FetchPartition(partition_index=number)
        request = R(
            group_id=self.group, member_id=self.id, share_session_epoch=0, max_wait_ms=0,
            min_bytes=1, max_records=4, batch_size=4,
            topics=[R.FetchTopic(topic_id=topic_id, partitions=[part])],
        )  # fmt: skip
        answer = client.ask(request, 2)
        if answer is not None and not answer.error_code and answer.responses:
            (one,) = answer.responses[0].partitions
            A = m.ShareAcknowledgeRequest
            said = [
                A.AcknowledgementBatch(
                    first_offset=span.first_offset, last_offset=span.last_offset,
                    acknowledge_types=[self.rng.choice([1, 1, 1, 2, 3])],
                )
                for span in one.acquired_records
            ]  # fmt: skip
            place = A.AcknowledgePartition(partition_index=number, acknowledgement_batches=said)
            topics = [A.AcknowledgeTopic(topic_id=topic_id, partitions=[place])]
            if said and self.rng.random() < 0.8:
                client.ask(A(
                    group_id=self.group, member_id=self.id, share_session_epoch=1, topics=topics
                ), 2)  # fmt: skip
        client.close()


class Streamer(Actor):
    def reset(self):
        self.epoch = 0
        self.tasks = {}
        self.id = f"{self.name}-{self.life.fresh()}"

    def step(self):
        what = self.rng.random()
        R = m.StreamsGroupHeartbeatRequest
        request = R(group_id=self.group, member_id=self.id, member_epoch=self.epoch)
        if self.epoch == 0:
            request.rebalance_timeout_ms = SESSION_MS
            request.process_id = self.rng.choice(["p1", "p2"])
            request.topology = R.Topology(
                epoch=0,
                subtopologies=[
                    R.Subtopology(subtopology_id="0", source_topics=[self.group[-1]]),
                ],
            )
            request.active_tasks = request.standby_tasks = request.warmup_tasks = []
        elif what < 0.1:
            request.member_epoch = -1
        elif what < 0.15:
            self.reset()
            return
        else:
            request.active_tasks = [
                R.TaskIds(subtopology_id=one, partitions=list(p)) for one, p in self.tasks.items()
            ]
            request.standby_tasks = request.warmup_tasks = []
        answer = self.beat(request, 0)
        if answer is not None and answer.active_tasks is not None:
            self.tasks = {one.subtopology_id: one.partitions for one in answer.active_tasks}


class Plain(Actor):
    """Who commits without a group's members, and who deletes."""

    def step(self):
        what = self.rng.random()
        group = self.rng.choice(self.life.groups)
        self.group = group
        if what < 0.4:
            self.life.commit(self, -1, "", None)
        elif what < 0.55:
            self.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)
        elif what < 0.7:
            R = m.OffsetDeleteRequest
            part = R.OffsetDeleteRequestPartition(partition_index=0)
            topic = R.OffsetDeleteRequestTopic(name=self.rng.choice("tuv"), partitions=[part])
            self.ask(R(group_id=group, topics=[topic]), 0)
        elif what < 0.85:
            R = m.AlterShareGroupOffsetsRequest
            part = R.AlterShareGroupOffsetsRequestPartition(
                partition_index=0, start_offset=self.rng.randrange(5)
            )
            topic = R.AlterShareGroupOffsetsRequestTopic(
                topic_name=self.rng.choice("tuv"), partitions=[part]
            )
            self.ask(R(group_id=group, topics=[topic]), 0)
        else:
            R = m.DeleteShareGroupOffsetsRequest
            topic = R.DeleteShareGroupOffsetsRequestTopic(topic_name=self.rng.choice("tuv"))
            self.ask(R(group_id=group, topics=[topic]), 0)


class Producer(Actor):
    def reset(self):
        self.id = self.epoch = -1
        self.sequences, self.open = Counter(), False

    def coordinator(self, request, version):
        node_id = self.world.cluster.transaction_coordinator_of(self.name)
        return self.at(node_id, request, version)

    def step(self):
        self.parked = None
        what = self.rng.random()
        if self.id < 0:
            R = m.InitProducerIdRequest
            request = R(transactional_id=self.name, transaction_timeout_ms=SESSION_MS)
            answer = self.coordinator(request, 5)
            if answer is not None and not answer.error_code:
                self.reset()
                self.id, self.epoch = answer.producer_id, answer.producer_epoch
        elif what < 0.4:
            self.write()
        elif what < 0.75:
            self.commit()
        elif what < 0.95 and self.open:
            R = m.EndTxnRequest
            answer = self.coordinator(R(
                transactional_id=self.name, producer_id=self.id, producer_epoch=self.epoch,
                committed=self.rng.random() < 0.6), 5)  # fmt: skip
            if answer is not None and not answer.error_code:
                self.id, self.epoch = answer.producer_id, answer.producer_epoch
                self.sequences, self.open = Counter(), False
            elif answer is not None and answer.error_code != E.CONCURRENT_TRANSACTIONS:
                self.reset()
        elif what > 0.97:
            self.reset()

    def write(self):
        number = self.rng.randrange(TOPICS["t"])
        topic = self.world.cluster.topics.get("t")
        if topic is None:
            return
        data = batch(b"x", producer_id=self.id, producer_epoch=self.epoch,
                     base_sequence=self.sequences[number], transactional=True)  # fmt: skip
        request = produce(data, "t", number, transactional_id=self.name)
        request.topic_data[0].topic_id = topic.topic_id
        answer = self.at(topic.partitions[number].leader, request, 12)
        if answer is None:
            return
        self.open = True
        if answer.responses[0].partition_responses[0].error_code:
            self.reset()
        else:
            self.sequences[number] += 1

    def commit(self):
        R = m.TxnOffsetCommitRequest
        self.group = self.rng.choice(self.life.groups)
        part = R.TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=self.rng.randrange(100)
        )
        request = R(
            transactional_id=self.name, group_id=self.group, producer_id=self.id,
            producer_epoch=self.epoch,
            topics=[R.TxnOffsetCommitRequestTopic(name=self.rng.choice("tuv"), partitions=[part])],
        )  # fmt: skip
        answer = self.ask(request, 5)
        self.open = True
        if answer is not None and answer.topics[0].partitions[0].error_code == (
            E.INVALID_PRODUCER_EPOCH
        ):
            self.reset()


class Life:
    """Everybody at once. `segment_bytes`: of the internal topics."""

    def __init__(self, seed, nodes=3, segment_bytes=600):
        self.rng = random.Random(seed)
        self.world = World(nodes, CONFIG)
        self.seed = seed
        self.made = 0
        self.segment_bytes = segment_bytes
        # How long tombstones stay: who is down for longer does not hear of them, as with a Kafka.
        self.steady = self.rng.random() < 0.3
        self.retention_ms = self.rng.choice([0, 5_000]) if self.steady else 86_400_000
        self.unclean = self.rng.random() < 0.3
        for name, count in TOPICS.items():
            self.world.topic(name, count, replication_factor=nodes)
        for name in INTERNAL_TOPICS:
            self.world.cluster.internal.ensure(name)
        self.groups = ["g1", "g2", "g3", "c1", "c2", "s1", "s2", "x-t", "x-u"]
        for group in ("s1", "s2"):
            self.world.cluster.settings.groups[group] = {"share.auto.offset.reset": "earliest"}
        self.actors = [
            Classic(self, "g1", "a1"), Classic(self, "g1", "a2"), Classic(self, "g2", "a3s"),
            Classic(self, "g3", "a4"), Classic(self, "g2", "a5"),
            Consumer(self, "c1", "b1"), Consumer(self, "c1", "b2s"), Consumer(self, "c2", "b3"),
            Consumer(self, "g3", "b4"),
            Sharer(self, "s1", "d1"), Sharer(self, "s1", "d2"), Sharer(self, "s2", "d3"),
            Streamer(self, "x-t", "e1"), Streamer(self, "x-t", "e2"), Streamer(self, "x-u", "e3"),
            Plain(self, "g1", "f1"), Plain(self, "g1", "f2"),
            *(Producer(self, "g1", f"p{number}") for number in range(5)),
        ]  # fmt: skip

    def fresh(self):
        self.made += 1
        return self.made

    def commit(self, actor, epoch, member_id, instance):
        R = m.OffsetCommitRequest
        name = self.rng.choice(sorted(TOPICS))
        part = R.OffsetCommitRequestPartition(
            partition_index=self.rng.randrange(TOPICS[name]),
            committed_offset=self.rng.randrange(100),
            committed_metadata=self.rng.choice(["", "note"]),
        )
        topic = R.OffsetCommitRequestTopic(name=name, partitions=[part])
        request = R(
            group_id=actor.group, generation_id_or_member_epoch=epoch, member_id=member_id,
            group_instance_id=instance, topics=[topic],
        )  # fmt: skip
        return actor.ask(request, 9)

    def step(self):
        for name in INTERNAL_TOPICS:
            topic = self.world.cluster.topics.get(name)
            if topic is not None:
                topic.config.segment_bytes = self.segment_bytes
                topic.config.delete_retention_ms = self.retention_ms
                topic.config.unclean_leader_election_enable = self.unclean
        weights = [850, 50, 15, 15, 2, 10, 15, 10, 40]
        (what,) = self.rng.choices(
            [
                self.act, self.pass_time, self.pass_long, self.turn_node, self.delete_journals,
                self.reassign, self.move, self.turn_topic, self.put_records,
            ],
            weights,
        )  # fmt: skip
        what()
        self.world.drain()

    def act(self):
        self.rng.choice(self.actors).step()

    def pass_time(self):
        self.world.run(self.rng.choice([10, 100, 1_000, 3_000, 12_000]))

    def pass_long(self):
        """Longer than committed offsets last."""
        self.world.run(130_000)

    def journals(self):
        """One of the internal topics; None: it is not there now."""
        return self.world.cluster.topics.get(self.rng.choice(sorted(INTERNAL_TOPICS)))

    def delete_journals(self):
        topic = self.journals()
        if topic is not None:
            self.world.cluster.delete(topic, self.world.now_ms)

    def reassign(self):
        topic, now_ms = self.journals(), self.world.now_ms
        if topic is None:
            return
        partition = self.rng.choice(topic.partitions)
        if reassignment.under_way(partition):
            with suppress(RefusedError):
                reassignment.cancel(partition, now_ms)
        else:
            nodes = sorted(self.world.nodes)
            target = self.rng.sample(nodes, self.rng.randint(1, len(nodes)))
            reassignment.begin(partition, target, now_ms)
        self.world.cluster.settle_coordinators(now_ms)

    def move(self):
        topic, cluster = self.journals(), self.world.cluster
        if topic is None:
            return
        number = self.rng.randrange(len(topic.partitions))
        able = [one for one in topic.partitions[number].isr if one in cluster.live]
        if able:
            cluster.move_leader(topic, number, self.rng.choice(able), self.world.now_ms)

    def turn_topic(self):
        """A topic that groups read goes, or comes again."""
        name, cluster = self.rng.choice(sorted(TOPICS)), self.world.cluster
        topic = cluster.topics.get(name)
        if topic is not None:
            cluster.delete(topic, self.world.now_ms)
        else:
            self.world.topic(name, TOPICS[name], replication_factor=len(self.world.nodes))

    def put_records(self):
        name, cluster = self.rng.choice(sorted(TOPICS)), self.world.cluster
        topic = cluster.topics.get(name)
        if topic is None:
            self.world.topic(name, TOPICS[name], replication_factor=len(self.world.nodes))
        elif topic.partitions[0].leader in cluster.live:
            topic.partitions[0].add(batch(b"1", b"2", b"3"), self.world.now_ms)

    def turn_node(self):
        cluster = self.world.cluster
        if self.steady:
            return
        node_id = self.rng.choice(sorted(self.world.nodes))
        if node_id in cluster.live:
            if len(cluster.live) > 1:
                cluster.stop_node(node_id, self.world.now_ms)
        else:
            cluster.start_node(node_id, self.world.now_ms)
