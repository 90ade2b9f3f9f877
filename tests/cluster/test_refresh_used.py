"""Topics that a producer uses, one after the other: what is new is asked for alone (rule M1)."""

from refresh_world import World, topic

from kcore.errors import DisconnectedError
from kcore.events import TopicsMissing


def used(*topics, **options):
    """A world in which these were used and answered, the last one at 1,000."""
    world = World(**options)
    world.refresher.set_used(set(topics))
    world.next_ask(0)
    world.answer(1_000, *map(topic, topics))
    return world


def names(world):
    return sorted(asked.name for asked in world.asked[-1][1].topics)


def test_m1_what_is_used_for_the_first_time_is_asked_for_alone_and_at_once():
    world = used("a", "b")
    world.refresher.set_used({"a", "b", "c"})
    world.refresher.request_topic("c")
    assert world.next_ask(1_001) == 1_001
    assert names(world) == ["c"]
    assert not world.refresher.covered
    world.answer(1_002, topic("c"))
    assert world.refresher.covered
    assert world.view.topics() == {"a", "b", "c"}
    assert world.next_ask(1_003) == 301_000  # all of them, by the age of the answer about all
    assert names(world) == ["a", "b", "c"]


def test_m1_what_comes_meanwhile_is_asked_for_next():
    world = used("a")
    world.refresher.set_used({"a", "b"})
    world.next_ask(1_001)
    world.refresher.set_used({"a", "b", "c"})
    world.answer(1_002, topic("b"))
    assert not world.refresher.covered
    assert world.next_ask(1_003) == 1_003
    assert names(world) == ["c"]
    world.answer(1_004, topic("c"))
    assert world.refresher.covered
    assert world.next_ask(1_005) == 301_000


def test_m1_all_are_asked_for_when_somebody_wants_that_beside_a_new_one():
    world = used("a")
    world.refresher.set_used({"a", "b"})
    world.view.request_update()
    assert world.next_ask(1_001) == 1_001
    assert names(world) == ["a", "b"]
    world.answer(1_002, topic("a"), topic("b"))
    assert world.next_ask(1_003) == 301_002


def test_m1_all_are_asked_for_when_a_new_one_turns_up_as_they_are_too_old():
    world = used("a")
    world.refresher.set_used({"a", "b"})
    world.tick(301_000)
    assert names(world) == ["a", "b"]


def test_m1_a_new_one_that_is_missing_is_asked_for_with_all_others():
    world = used("a")
    world.refresher.set_used({"a", "b"})
    world.next_ask(1_001)
    world.answer(1_002, topic("b", code=3))
    world.refresher.request_topic("b")
    assert 1_050 < world.next_ask(1_003) < 1_200
    assert names(world) == ["a", "b"]
    world.answer(1_200, topic("a"), topic("b", code=3))
    world.refresher.set_used({"a", "b", "c"})  # as long as one is missing
    world.next_ask(1_201)
    assert names(world) == ["a", "b", "c"]
    world.answer(1_202, topic("a"), topic("b"), topic("c"))
    missing = [event.topics for event in world.events if isinstance(event, TopicsMissing)]
    assert missing == [{"b"}, set()]


def test_m1_a_new_one_whose_question_fails_is_asked_for_with_all_others():
    world = used("a")
    world.refresher.set_used({"a", "b"})
    world.next_ask(1_001)
    world.answer(1_002, error=DisconnectedError("gone"))
    assert 1_050 < world.next_ask(1_003) < 1_200
    assert names(world) == ["a", "b"]


def test_m1_a_new_one_that_is_used_no_more_is_not_asked_for():
    world = used("a")
    world.refresher.set_used({"a", "b"})
    world.refresher.set_used({"a"})
    assert world.next_ask(1_001) == 301_000
    assert names(world) == ["a"]


def test_m1_what_is_wanted_before_a_new_one_is_written_is_in_the_request():
    world = used("a")
    builds = []
    world.links.send = lambda _node, _api, build, done, _now, **_: builds.append(build)
    world.refresher.set_used({"a", "b"})
    world.tick(1_001)
    world.view.request_update()
    (build,) = builds
    assert [asked.name for asked in build(12).topics] == ["a", "b"]
    assert not world.view.requested


def test_m1_answers_about_new_ones_count_for_nobody_who_waits_for_another():
    world = used("a")
    refresher = world.refresher
    before = refresher.requests, refresher.answered
    refresher.set_used({"a", "b"})
    world.next_ask(1_001)
    world.answer(1_002, topic("b"))
    assert (refresher.requests, refresher.answered) == before
    world.view.request_update()
    world.next_ask(1_003)
    world.answer(1_300, topic("a"), topic("b"))
    assert (refresher.requests, refresher.answered) == (before[0] + 1, before[0] + 1)
