"""A producer of transactions, and what is to be seen of what it does at nodes."""

from broker_world import World, batch, only, produce

from kcore.broker import BrokerConfig
from kcore.coordinator import partition_for
from kcore.wire import messages as m


class Producer:
    """Speaks to whichever node it is told, as a client of release 4.3 or of an old one."""

    def __init__(self, world, name="x", *, old=False):
        self.world = world
        self.name = name
        self.old = old
        self.clients = {node: world.client(node) for node in world.nodes}
        self.id = self.epoch = -1
        self.sequence = 0

    @property
    def coordinator(self):
        return self.clients[self.world.cluster.transaction_coordinator_of(self.name)]

    def init(self, node=None):
        client = self.coordinator if node is None else self.clients[node]
        request = m.InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=10_000)
        answer = client.ask(request, 4 if self.old else 5)
        self.id, self.epoch, self.sequence = answer.producer_id, answer.producer_epoch, 0
        return answer.error_code

    def add(self, *partitions, topic="t", node=None):
        request = m.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(
                    name=topic, partitions=list(partitions)
                )
            ],
        )
        client = self.coordinator if node is None else self.clients[node]
        (found,) = client.ask(request, 3).results_by_topic_v3_and_below
        return found.results_by_partition[0].partition_error_code

    def write(self, partition=0, topic="t", version=None, acks=-1):
        data = batch(
            b"v",
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
            transactional=True,
        )
        leader = self.world.cluster.topics.get(topic).partitions[partition].leader
        request = produce(data, topic, partition, acks, transactional_id=self.name)
        return only(self.clients[leader].ask(request, version or (11 if self.old else 12)))

    def end(self, committed=True):
        request = m.EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.id,
            producer_epoch=self.epoch,
            committed=committed,
        )
        answer = self.coordinator.ask(request, 4 if self.old else 5)
        if not self.old and not answer.error_code:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
        return answer.error_code

    def state(self):
        request = m.DescribeTransactionsRequest(transactional_ids=[self.name])
        (found,) = self.coordinator.ask(request, 0).transaction_states
        return found.transaction_state

    def commit(self, offset=5, group="g", version=None):
        Commit = m.TxnOffsetCommitRequest
        part = Commit.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = Commit(
            transactional_id=self.name,
            group_id=group,
            producer_id=self.id,
            producer_epoch=self.epoch,
            topics=[Commit.TxnOffsetCommitRequestTopic(name="t", partitions=[part])],
        )
        keeper = self.world.cluster.coordinator_of(group)
        return only(self.clients[keeper].ask(request, version or (3 if self.old else 5))).error_code


def offset_of(world, group="g", stable=True, version=9):
    Fetch = m.OffsetFetchRequest
    wanted = Fetch.OffsetFetchRequestTopics(name="t", partition_indexes=[0])
    asked = Fetch.OffsetFetchRequestGroup(group_id=group, topics=[wanted])
    keeper = world.client(world.cluster.coordinator_of(group))
    answer = keeper.ask(Fetch(groups=[asked], require_stable=stable), version)
    (found,) = answer.groups[0].topics[0].partitions
    return found.error_code or found.committed_offset


def stable(world, partition=0):
    found = world.cluster.topics.get("t").partitions[partition]
    return found.log.last_stable_offset, found.log.end_offset


def served(release):
    world = World(config=BrokerConfig(release=release))
    world.topic()
    return world


def raw(maker, data, version=12, topic="t"):
    """The answer to these bytes, in a transaction."""
    found = maker.world.cluster.topics.get(topic)
    request = produce(data, topic, transactional_id=maker.name)
    request.topic_data[0].topic_id = found.topic_id
    return only(maker.clients[found.partitions[0].leader].ask(request, version))


def written_by(maker, sequence=0, values=(b"v",)):
    return batch(
        *values,
        producer_id=maker.id,
        producer_epoch=maker.epoch,
        base_sequence=sequence,
        transactional=True,
    )


def moved(world, node, name="x"):
    """Have another node keep the transactional id; both are up."""
    partitions = world.cluster.config.transactions.transaction_state_log_num_partitions
    number = partition_for(name, partitions)
    world.cluster.move_coordinator(number, node, world.now_ms)
    world.drain()


def undecided(world, topic="u"):
    """A transaction with an end that cannot be carried out: its only log is on a node that is down.
    Returns its producer, its coordinator, the node that does not coordinate it, the one that is
    down.
    """
    maker = Producer(world)
    maker.init()
    keeper = world.cluster.transaction_coordinator_of("x")
    other, down = keeper % 3 + 1, (keeper + 1) % 3 + 1
    world.topic(topic, 1, assignments=[[down]])
    maker.write(topic=topic)
    world.cluster.stop_node(down, world.now_ms)
    world.drain()
    assert maker.end() == 0
    assert maker.state() == "PrepareCommit"
    return maker, keeper, other, down
