"""When metadata is asked for, and look-ups (rules M1-M6) on a virtual clock with answers made by
hand.
"""

import pytest
from refresh_world import World, topic

from kcore.cluster.refresh import metadata_request
from kcore.connection.calls import Answer
from kcore.errors import (
    DisconnectedError,
    InvalidTopicError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
)
from kcore.events import ErrorRaised, TopicsMissing
from kcore.structs import TopicPartition
from kcore.timers import NEVER
from kcore.wire.messages import MetadataResponse as R


def test_m1_the_first_request_goes_out_at_once_and_one_is_in_flight():
    world = World()
    world.tick(5)
    assert len(world.asked) == 1
    assert world.refresher.deadline() == NEVER
    world.view.request_update()
    world.tick(6)
    assert len(world.asked) == 1


def test_m1_topics_that_turn_up_before_it_is_written_are_in_it():
    """A link that is being opened writes it later: nothing is left to ask then."""
    world = World()
    builds = []
    world.links.send = lambda _node, _api, build, done, _now, **_: builds.append((build, done))
    world.tick(0)
    world.refresher.set_topics({"t"})
    (build, done), *_ = builds
    request = build(12)
    assert [asked.name for asked in request.topics] == ["t"]
    brokers = [R.MetadataResponseBroker(node_id=1, host="h", port=9)]
    done(Answer(R(brokers=brokers, topics=[topic()]), None, 12, -1), 3)
    assert world.refresher.covered
    world.tick(2_000)
    assert len(builds) == 1


def test_names_wanted_meanwhile_are_asked_for_next():
    world = World()
    builds = []
    world.links.send = lambda _node, _api, build, done, _now, **_: builds.append((build, done))
    world.tick(0)
    world.view.request_names(frozenset({b"1" * 16}))
    builds[0][0](12)
    brokers = [R.MetadataResponseBroker(node_id=1, host="h", port=9)]
    builds[0][1](Answer(R(brokers=brokers), None, 12, -1), 3)
    world.tick(2_000)
    assert builds[1][0](12).topics[0].topic_id == b"1" * 16


def test_m2_age():
    world = World(metadata_max_age_ms=5_000)
    world.refresher.set_topics({"t"})
    world.tick(0)
    world.answer(10, topic())
    assert world.next_ask(10) == 5_010


def test_m2_failures_back_off_to_a_second():
    world = World()
    world.tick(0)
    now, waits = 0, []
    for _ in range(8):
        world.answer(now, error=DisconnectedError("gone"))
        at = world.next_ask(now)
        waits.append(at - now)
        now = at
    assert 80 <= waits[0] <= 120
    assert waits[-1] >= 800
    assert max(waits) <= 1_000


def test_m2_answers_without_news_are_asked_for_ever_more_slowly():
    world = World()
    world.refresher.set_topics({"t"})
    world.tick(0)
    now, waits = 0, []
    for _ in range(8):
        world.answer(now, topic(leader=-1))
        at = world.next_ask(now)
        waits.append(at - now)
        now = at
    assert waits[0] <= 120
    assert waits[-1] >= 800
    world.answer(now, topic(epoch=2, leader=-1))  # news: patience starts anew
    assert world.next_ask(now) - now <= 120


def test_m1_new_topics_do_not_wait_for_the_backoff():
    world = World()
    world.tick(0)
    world.answer(0)
    world.refresher.set_topics({"t"})
    assert world.next_ask(1) == 1
    _, request, _ = world.asked[-1]
    assert [x.name for x in request.topics] == ["t"]
    world.answer(2, topic())
    world.refresher.set_topics({"t"})
    assert world.refresher.deadline() > 100_000  # nothing new: nothing to ask


def test_m1_topics_added_while_a_request_is_under_way_are_asked_for_at_once():
    world = World()
    world.tick(0)
    world.refresher.set_topics({"t"})
    world.answer(7)
    assert world.next_ask(7) == 7
    world.refresher.set_topics(None)
    world.answer(8, topic())
    assert world.next_ask(8) == 8
    assert world.asked[-1][1].topics is None


def test_a_partition_without_a_leader_is_asked_for_again_but_nobody_waits_for_it():
    world = World()
    world.refresher.set_topics({"t"})
    world.tick(0)
    assert not world.refresher.covered
    world.answer(0, topic(leader=-1))
    assert world.refresher.covered
    assert world.view.requested
    world.refresher.set_topics({"t", "u"})
    assert not world.refresher.covered
    now = world.next_ask(0)
    assert not world.refresher.covered
    world.answer(now, topic(leader=-1), topic("u", code=3))
    assert world.refresher.covered


def test_m5_all_topics_transient_topics_and_none():
    assert metadata_request(None, 12, allow_auto_create=False).topics is None
    assert metadata_request(set(), 12, allow_auto_create=False).topics == []
    world = World()
    world.tick(0)
    world.answer(0)
    world.refresher.add_transient(["x"])
    world.refresher.add_transient(["x"])
    world.next_ask(0)
    assert [x.name for x in world.asked[-1][1].topics] == ["x"]
    world.answer(1, topic("x"))
    world.refresher.drop_transient(["x"])
    world.view.request_update()
    now = world.next_ask(1)
    assert [x.name for x in world.asked[-1][1].topics] == ["x"]  # the other look-up goes on
    world.answer(now, topic("x"))
    world.refresher.drop_transient(["x"])
    world.view.request_update()
    world.next_ask(now)
    assert world.asked[-1][1].topics == []


def test_m5_a_topic_of_a_look_up_does_not_wait_for_the_backoff():
    world = World()
    world.refresher.set_topics({"t"})
    world.next_ask(0)
    world.answer(10, topic())
    world.refresher.add_transient(["t"])
    assert world.refresher.deadline() > 10  # it is known
    world.refresher.add_transient(["u"])
    assert world.next_ask(11) == 11
    assert sorted(asked.name for asked in world.asked[-1][1].topics) == ["t", "u"]


def test_m5_of_all_topics_those_that_are_no_more_are_forgotten():
    world = World()
    world.refresher.set_topics(None)
    world.tick(0)
    world.answer(0, topic("t"), topic("u"))
    assert world.view.topics() == {"t", "u"}
    world.view.request_update()
    now = world.next_ask(0)
    world.answer(now, topic("u"))
    assert world.view.topics() == {"u"}


@pytest.mark.parametrize("allowed", [True, False])
def test_brokers_are_told_whether_they_may_make_topics(allowed):
    world = World(allow_auto_create_topics=allowed)
    world.refresher.set_topics({"t"})
    world.tick(0)
    assert world.asked[-1][1].allow_auto_topic_creation is allowed
    assert (
        metadata_request({"t"}, 4, allow_auto_create=allowed).allow_auto_topic_creation is allowed
    )


def test_nor_may_they_make_what_nobody_has_named():
    world = World()
    world.refresher.set_topics({"t"}, may_create=False)
    world.tick(0)
    assert world.asked[-1][1].allow_auto_topic_creation is False


def test_m3_a_failed_link_asks_for_a_refresh():
    world = World()
    world.tick(0)
    world.answer(0)
    assert world.refresher.deadline() > 100_000
    world.links.alarms += 1
    world.tick(1_000)
    assert len(world.asked) == 1


def test_a_node_of_which_nothing_comes_is_not_waited_for():
    world = World()
    world.refresher.set_topics({"t"})
    world.tick(0)
    world.links.alarms += 1
    world.tick(3_000)
    assert len(world.asked) == 1  # another one is late, and not this
    world.links.silent = lambda node, now_ms: (node, now_ms) == (-1, 4_000)
    world.links.alarms += 1
    world.tick(4_000)
    assert [at_ms for at_ms, _, _ in world.asked] == [0, 4_000]
    late = world.asked.pop(0)[2]
    late(Answer(None, DisconnectedError("gone"), 12, -1), 4_500)
    assert world.refresher.deadline() == NEVER  # the other is still waited for
    world.answer(5_000, topic())
    assert world.view.partitions("t") == [0]
    assert world.refresher.covered
    late(Answer(R(), None, 12, -1), 6_000)
    assert world.view.partitions("t") == [0]


def test_a_set_up_that_took_long_is_not_for_nothing():
    """Who was asked in its place may take as long (a proof of who we are, by Kerberos)."""
    world = World()
    calls = []
    world.links.send = lambda node, api, build, done, now_ms: calls.append((build, done))
    world.refresher.set_topics({"t"})
    world.tick(0)
    world.links.silent = lambda node, now_ms: True
    world.links.alarms += 1
    world.tick(3_000)
    (build, done), (later, done_later) = calls
    assert [one.name for one in build(12).topics] == ["t"]  # its link is ready now
    brokers = [R.MetadataResponseBroker(node_id=1, host="h", port=9)]
    done(Answer(R(brokers=brokers, topics=[topic()]), None, 12, -1), 5_000)
    assert world.view.partitions("t") == [0]
    assert world.refresher.covered
    assert [one.name for one in later(12).topics] == ["t"]
    done_later(Answer(R(brokers=brokers, topics=[topic(epoch=2)]), None, 12, -2), 8_000)
    assert world.view.leader(TopicPartition("t", 0)).epoch == 2


def test_m6_refused_topics_are_raised_and_missing_ones_said_when_that_changes():
    world = World()
    world.refresher.set_topics({"a", "b", "t"})
    world.tick(0)
    world.answer(0, topic("a", code=29), topic("b", code=3), topic())
    (raised,) = [e for e in world.events if isinstance(e, ErrorRaised)]
    assert isinstance(raised.error, TopicAuthorizationFailedError)
    assert "a" in str(raised.error)
    now = world.next_ask(0)
    world.answer(now, topic("b", code=3), topic("a"), topic())
    missing = [e.topics for e in world.events if isinstance(e, TopicsMissing)]
    assert missing == [frozenset({"b"})]


def test_m6_a_topic_that_is_missing_for_a_while_is_known_as_it_was():
    world = World()
    world.refresher.set_topics({"t"})
    world.tick(0)
    world.answer(0, topic())
    world.view.request_update()
    now = world.next_ask(0)
    world.answer(now, topic(code=5))
    assert world.view.partitions("t") == [0]
    assert world.view.leader(TopicPartition("t", 0)) is not None


def test_m6_a_name_that_no_topic_can_have_is_raised():
    world = World()
    world.refresher.set_topics({"a b"})
    world.tick(0)
    world.answer(0, topic("a b", code=17))
    (raised,) = [e for e in world.events if isinstance(e, ErrorRaised)]
    assert type(raised.error) is InvalidTopicError
    assert "metadata of a b was refused" in str(raised.error)


def test_kip1102_rebootstrap_required():
    world = World()
    world.tick(0)
    world.answer(0, topic())
    assert world.links.least_loaded(0) == 1
    world.view.request_update()
    now = world.next_ask(0)
    world.answer(now, code=129)
    assert world.links.least_loaded(now) == -1


def test_lookup_of_all_and_of_some_topics():
    world = World()
    found = []
    world.lookup.ask(None, 0, lambda *x: found.append(x), deadline_ms=1_000)
    world.tick(0)
    assert world.asked[-1][1].topics is None
    world.answer(1, topic("a"), topic("b", code=3))
    assert found == [({"a": [0]}, None)]


def test_lookup_retries_what_is_retriable_until_the_deadline():
    world = World()
    world.tick(0)
    world.answer(0)
    found = []
    world.lookup.ask({"a"}, 0, lambda *x: found.append(x), deadline_ms=1_000)
    now = 0
    while not found:
        now = max(now, world.lookup.deadline())
        world.lookup.handle_tick(now)
        if world.asked:
            world.answer(now, topic("a", code=5))
    assert now == 1_000
    assert isinstance(found[0][1], KafkaTimeoutError)
    assert "LEADER_NOT_AVAILABLE" in str(found[0][1])


def test_look_ups_are_seen_to_when_the_first_of_them_is_late():
    world = World()
    for timeout_ms in (500, 900):
        world.lookup.ask({"t"}, 0, lambda *_: None, deadline_ms=timeout_ms)
    world.tick(0)
    assert world.lookup.deadline() == 500  # nobody else can be asked meanwhile


@pytest.mark.parametrize("code", [29, 17])
def test_lookup_gives_up_at_once_when_refused(code):
    world = World()
    world.tick(0)
    world.answer(0)
    found = []
    world.lookup.ask({"a"}, 0, lambda *x: found.append(x), deadline_ms=1_000)
    world.tick(0)
    world.answer(0, topic("a", code=code))
    assert found[0][0] is None
    assert found[0][1].errno == code


def test_one_node_that_stands_still_has_not_all_of_a_lookups_time():
    world = World()
    world.tick(0)
    world.answer(0)
    found = []
    world.lookup.ask(None, 0, lambda *x: found.append(x), deadline_ms=100_000)
    world.tick(1)
    assert world.timeout_ms == world.links.request_timeout_ms == 30_000
    world.answer(30_000, error=DisconnectedError("late"))
    now = world.lookup.deadline()
    world.tick(now)
    world.answer(now, topic("a"))
    assert found == [({"a": [0]}, None)]


def test_who_is_asked_while_a_fetch_may_wait_there_is_asked_by_another_connection():
    """What goes by itself opens none; whoever looks something up is waiting."""
    world = World()
    world.links.beside = lambda node, now_ms, *, opens=False: (node, now_ms, opens)
    world.tick(7)
    assert world.node == (-1, 7, False)
    world.answer(7)
    world.lookup.ask(None, 8, lambda *_: None, deadline_ms=1_000)
    world.tick(8)
    assert world.node == (1, 8, True)


def test_the_view_is_filled():
    world = World()
    world.refresher.set_topics({"t"})
    assert not world.refresher.ever_answered
    assert not world.refresher.covered
    world.tick(0)
    world.answer(0, topic())
    assert world.refresher.ever_answered
    assert world.refresher.covered
    leader = world.view.leader(TopicPartition("t", 0))
    assert leader is not None
    assert leader.node_id == 1


def by_id(world):
    """The topics that the open request names by their ids."""
    return [(one.topic_id, one.name) for one in world.asked[-1][1].topics]


ID = b"i" * 16


def named(name="t"):
    found = topic(name)
    found.topic_id = ID
    return found


def settled(now=0):
    """A view without topics; nothing is asked."""
    world = World()
    world.tick(now)
    world.answer(now)
    return world


def test_names_are_asked_by_ids_alone_and_then_what_else_is_due():
    world = settled()
    world.view.request_names(frozenset({ID}))
    now = world.next_ask(1_000)
    assert by_id(world) == [(ID, None)]
    assert world.asked[-1][1].allow_auto_topic_creation is False
    world.answer(now, named())
    assert world.view.topic_name(ID) == "t"
    assert world.view.partitions("t") == [0]
    world.refresher.set_topics({"t"})
    now = world.next_ask(now)
    assert [one.name for one in world.asked[-1][1].topics] == ["t"]
    world.answer(now, named())
    assert world.view.topic_name(ID) == "t"
    world.tick(now + 60_000)
    assert not world.asked


def test_ids_that_were_not_asked_about_yet_do_not_wait_for_the_backoff():
    world = settled()
    world.view.request_names(frozenset({ID}))
    assert world.next_ask(1) == 1
    world.answer(2, R.MetadataResponseTopic(name=None, topic_id=ID, error_code=100))
    world.view.request_names(frozenset({ID}))  # still not known
    now = world.next_ask(2)
    assert now - 2 >= 80
    world.answer(now, named())
    world.view.request_names(frozenset({ID, b"2" * 16}))
    assert world.next_ask(now) == now
    world.answer(now, error=DisconnectedError("gone"))
    world.view.request_names(frozenset({b"3" * 16}))
    assert world.next_ask(now) - now >= 80  # nobody answers, whatever is asked


def test_a_name_that_nobody_keeps_is_forgotten_with_the_next_answer():
    world = settled()
    world.view.request_names(frozenset({ID}))
    now = world.next_ask(1_000)
    world.answer(now, named())
    world.answer(world.next_ask(now))
    assert world.view.topic_name(ID) is None


@pytest.mark.parametrize("how", [{"error": DisconnectedError("gone")}, {"code": 5}])
def test_an_answer_about_ids_that_fails_is_for_who_asked_to_ask_again(how):
    world = settled()
    world.view.request_names(frozenset({ID}))
    now = world.next_ask(1_000)
    world.answer(now, **how)
    world.view.request_names(frozenset({ID}))
    later = world.next_ask(now)
    assert later - now >= 50
    assert by_id(world) == [(ID, None)]


def test_an_id_that_is_not_known_is_no_missing_topic():
    world = settled()
    world.view.request_names(frozenset({ID}))
    now = world.next_ask(1_000)
    unknown = R.MetadataResponseTopic(name=None, topic_id=ID, error_code=100)
    world.answer(now, unknown)
    assert world.view.topic_name(ID) is None
    assert not [event for event in world.events if isinstance(event, TopicsMissing)]
