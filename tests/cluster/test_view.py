"""What a Metadata answer does to the view: epochs never go back, ids, hostile answers (rules M3,
M4, M6).
"""

import pytest

from kcore.cluster.view import Metadata
from kcore.structs import Leader, Node, TopicPartition
from kcore.wire.messages import MetadataResponse

TP = TopicPartition("t", 0)
ID_A, ID_B = b"a" * 16, b"b" * 16


def broker(node_id=1, host="h1", port=9092, rack=None):
    return MetadataResponse.MetadataResponseBroker(node_id=node_id, host=host, port=port, rack=rack)


def part(index=0, leader=1, epoch=5, **more):
    return MetadataResponse.MetadataResponsePartition(
        partition_index=index, leader_id=leader, leader_epoch=epoch, **more
    )


def topic(name="t", partitions=None, topic_id=bytes(16), **more):
    return MetadataResponse.MetadataResponseTopic(
        name=name,
        partitions=[part()] if partitions is None else partitions,
        topic_id=topic_id,
        **more,
    )


def answer(*topics, brokers=None):
    return MetadataResponse(
        brokers=[broker(1), broker(2, "h2")] if brokers is None else brokers, topics=list(topics)
    )


@pytest.fixture
def view():
    return Metadata()


def take(view, body, version=12, keep=None):
    return view.take(body, version, keep=keep)


def test_leader_node_and_partitions(view):
    take(view, answer(topic(partitions=[part(2), part(0), part(1, leader=2)])))
    assert view.partitions("t") == [0, 1, 2]
    assert view.leader(TopicPartition("t", 1)) == Leader(2, 5)
    assert view.node(2) == Node(2, "h2", 9092, None)
    assert view.partitions("other") is None


@pytest.mark.parametrize("node_id", [0, 2**30, 2**31 - 1])
def test_whatever_id_a_broker_has(view, node_id):
    brokers = [broker(node_id)]
    take(view, answer(topic(partitions=[part(leader=node_id)]), brokers=brokers))
    assert view.leader(TP) == Leader(node_id, 5)
    assert view.node(node_id) == Node(node_id, "h1", 9092, None)


def test_version_moves_only_with_news(view):
    take(view, answer(topic()))
    before = view.version
    take(view, answer(topic()))
    assert view.version == before
    take(view, answer(topic(partitions=[part(leader=2, epoch=6)])))
    assert view.version > before


def test_m4_an_older_epoch_keeps_what_we_have(view):
    take(view, answer(topic(partitions=[part(leader=1, epoch=5)])))
    taken = take(view, answer(topic(partitions=[part(leader=2, epoch=4)])))
    assert view.leader(TP) == Leader(1, 5)
    assert taken.incomplete


def test_an_older_epoch_is_believed_when_every_answer_says_it(view):
    take(view, answer(topic(partitions=[part(leader=1, epoch=5)])))
    assert view.see_epoch(TP, 1 << 30)  # a lie, or a topic made anew by brokers without topic ids
    older = answer(topic(partitions=[part(leader=1, epoch=5)]))
    for _ in range(9):
        assert take(view, older).incomplete  # asked again each time
        assert view.leader(TP) is None
    before = view.version
    take(view, older)
    assert view.leader(TP) == Leader(1, 5)
    assert view.version > before


def test_m4_answers_that_lag_behind_now_and_then_are_never_believed(view):
    for _ in range(10):
        take(view, answer(topic(partitions=[part(leader=1, epoch=5)])))
        for _ in range(5):
            take(view, answer(topic(partitions=[part(leader=2, epoch=4)])))
            assert view.leader(TP) == Leader(1, 5)


def test_epochs_count_no_more_when_brokers_without_them_answer(view):
    take(view, answer(topic(partitions=[part(leader=1, epoch=5)])))
    take(view, answer(topic(partitions=[part(leader=2, epoch=5)])), version=8)
    assert view.leader(TP) == Leader(2, -1)


def test_m4_another_topic_id_accepts_any_epoch(view):
    take(view, answer(topic(topic_id=ID_A, partitions=[part(leader=1, epoch=5)])))
    take(view, answer(topic(topic_id=ID_B, partitions=[part(leader=2, epoch=0)])))
    assert view.leader(TP) == Leader(2, 0)
    assert view.topic_id("t") == ID_B
    assert view.topic_name(ID_A) is None
    assert view.topic_name(ID_B) == "t"


def test_an_id_of_a_topic_that_was_made_anew_comes_from_a_broker_that_lags_behind(view):
    """Whoever believed it would begin anew in the topic before, and then once more in this one."""
    for topic_id, epoch in ((ID_A, 5), (ID_B, 0)):
        take(view, answer(topic(topic_id=topic_id, partitions=[part(epoch=epoch)])))
    before = view.version
    for _ in range(5):
        for _ in range(9):
            late = take(view, answer(topic(topic_id=ID_A, partitions=[part(leader=2, epoch=5)])))
            assert late.incomplete  # asked again each time
            assert (view.topic_id("t"), view.leader(TP)) == (ID_B, Leader(1, 0))
        take(view, answer(topic(topic_id=ID_B, partitions=[part(epoch=0)])))
    assert view.version == before
    assert view.topic_name(ID_A) is None


def test_nor_does_it_where_the_new_one_was_not_heard_of_for_a_while(view):
    for topic_id in (ID_A, ID_B):
        take(view, answer(topic(topic_id=topic_id)))
    take(view, answer(), keep=set())
    assert take(view, answer(topic(topic_id=ID_A))).incomplete
    assert view.topic_id("t") is None
    take(view, answer(topic(topic_id=ID_B)))
    assert view.topic_id("t") == ID_B


def test_an_id_that_has_come_back_is_believed_when_every_answer_says_it(view):
    """A cluster that was put back to what it was; or the one that lagged behind was heard last."""
    for topic_id in (ID_A, ID_B, *[ID_A] * 9):
        take(view, answer(topic(topic_id=topic_id)))
    assert view.topic_id("t") == ID_B
    assert take(view, answer(topic(topic_id=ID_A))).newer
    assert view.topic_id("t") == ID_A
    take(view, answer(topic(topic_id=ID_B)))
    assert view.topic_id("t") == ID_A


def test_brokers_without_topic_ids_say_nothing_of_them(view):
    """A cluster half upgraded: some answer without."""
    take(view, answer(topic(topic_id=ID_A)))
    for _ in range(3):
        take(view, answer(topic()), version=9)
        assert view.topic_id("t") is None
        take(view, answer(topic(topic_id=ID_A)))
        assert view.topic_id("t") == ID_A


def test_ids_of_topics_that_were_made_anew_are_kept_for_some_only(view):
    for number in range(2_000):
        name = f"t{number}"
        for topic_id in range(1, 20):
            take(view, answer(topic(name, topic_id=topic_id.to_bytes(16, "big"))), keep={name})
    assert sum(len(ids) for ids in view._bygone.values()) <= 8_000


def test_m4_a_newer_epoch_seen_elsewhere_hides_the_leader_until_refreshed(view):
    take(view, answer(topic()))
    view.requested = False
    assert view.see_epoch(TP, 6)
    assert view.leader(TP) is None
    assert view.requested
    assert not view.see_epoch(TP, 6)
    take(view, answer(topic(partitions=[part(leader=2, epoch=6)])))
    assert view.leader(TP) == Leader(2, 6)


def test_epochs_below_version_9_are_not_used(view):
    take(view, answer(topic(partitions=[part(epoch=5)])), version=8)
    assert view.leader(TP) == Leader(1, -1)


def test_old_brokers_epochs_seen_elsewhere_hide_no_leader(view):
    take(view, answer(topic()), version=8)
    assert not view.see_epoch(TP, 0)  # from a commit, say: Metadata would never confirm it
    assert view.leader(TP) == Leader(1, -1)
    take(view, answer(topic(partitions=[part(epoch=5)])), version=9)
    assert view.see_epoch(TP, 6)
    assert view.leader(TP) is None
    before = view.version
    take(view, answer(topic()), version=8)  # a cluster half upgraded
    assert view.leader(TP) == Leader(1, -1)
    assert view.version > before


def test_brokers_that_tell_of_no_epochs_hide_no_leader(view):
    """Azure Event Hubs, and clusters half upgraded: versions that have epochs, and -1 for each."""
    none = answer(topic(partitions=[part(leader=1, epoch=-1)]))
    take(view, none, version=9)
    assert not view.see_epoch(TP, 0)  # from a batch: Metadata would never confirm it
    assert view.leader(TP) == Leader(1, -1)
    take(view, answer(topic(partitions=[part(leader=2, epoch=5)])))
    assert view.see_epoch(TP, 6)
    assert view.leader(TP) is None
    before = view.version
    take(view, none, version=9)
    assert view.leader(TP) == Leader(1, -1)
    assert view.version > before


def test_a_partition_without_a_leader_says_nothing_of_epochs(view):
    take(view, answer(topic(partitions=[part(leader=1, epoch=5)])))
    take(view, answer(topic(partitions=[part(leader=-1, epoch=-1)])))
    take(view, answer(topic(partitions=[part(leader=2, epoch=4)])))  # it lags behind
    assert view.leader(TP) is None
    assert view.see_epoch(TP, 6)


def test_kip951_hint(view):
    take(view, answer(topic()))
    assert not view.learn_leader(TP, Leader(2, 5), None)  # not newer
    assert not view.learn_leader(TP, Leader(7, 6), None)  # nobody knows node 7
    before = view.version
    assert view.learn_leader(TP, Leader(7, 6), Node(7, "h7", 9092))
    assert view.leader(TP) == Leader(7, 6)
    assert view.learn_leader(TP, Leader(7, 7), None)
    assert view.version == before + 2
    assert not view.learn_leader(TopicPartition("x", 0), Leader(1, 9), None)


def test_no_leader_and_leader_not_among_the_brokers(view):
    taken = take(view, answer(topic(partitions=[part(leader=-1), part(1, leader=9)])))
    assert taken.incomplete
    assert view.leader(TP) is None
    assert view.leader(TopicPartition("t", 1)) is None


def test_keep_drops_deleted_topics(view):
    take(view, answer(topic("t"), topic("u")))
    take(view, answer(topic("t")), keep=set())
    assert view.topics() == {"t"}
    take(view, answer(topic("v")), keep={"t"})
    assert view.topics() == {"t", "v"}


@pytest.mark.parametrize(
    "bad",
    [
        broker(-1),
        broker(1, ""),
        broker(1, "  "),
        broker(1, "h", 0),
        broker(1, "h", -5),
        broker(1, "h", 65536),
    ],
    ids=repr,
)
def test_an_implausible_broker_is_passed_over(view, bad):
    taken = take(view, answer(topic(), brokers=[bad]))
    assert taken.brokers == 0
    assert view.nodes() == []
    assert view.topics() == set()  # the whole answer counts as a failure


def test_a_broker_that_contradicts_itself(view):
    taken = take(view, answer(topic(partitions=[part(0, leader=1), part(0, leader=2), part(-4)])))
    assert view.partitions("t") == [0]
    assert view.leader(TP) == Leader(1, 5)
    assert taken.incomplete


def test_topic_errors_are_given_by_name(view):
    take(view, answer(topic()))
    bad = MetadataResponse.MetadataResponseTopic(error_code=29, name="t")
    assert take(view, answer(bad)).topic_errors == {"t": 29}
    assert view.partitions("t") == [0]  # what was known stays until it is known to be gone


def test_racks(view):
    brokers = [broker(1, rack="a"), broker(2, "h2", rack="b"), broker(3, "h3")]
    take(view, answer(topic(partitions=[part(replica_nodes=[1, 3])]), brokers=brokers))
    assert view.replica_racks(TP) == {"a"}
    assert view.replica_racks(TopicPartition("unknown", 0)) == set()


class Counted(set):
    """How often it was gone through with another set."""

    joined = 0

    def __ror__(self, other):
        self.joined += 1
        return set.__or__(self, other)

    __or__ = __ror__


def test_work_grows_with_the_topics_and_not_with_their_square(view):
    names = Counted(f"t{number}" for number in range(100))
    view.take(answer(*map(topic, names)), 12, keep=None)
    view.take(answer(topic("t0")), 12, keep=names)
    assert names.joined <= 1
    assert len(view.topics()) == 100
