"""Brokers that are all slow: who is asked in the place of another is no faster."""

import heapq

import pytest
from links_world import World, nodes
from refresh_world import topic

from kcore.actions import Connect, Send
from kcore.cluster.refresh import RefreshConfig, Refresher
from kcore.cluster.view import Metadata
from kcore.connection.calls import Answer
from kcore.wire import frames
from kcore.wire.messages import ApiVersionsResponse
from kcore.wire.messages import MetadataResponse as R

BROKERS = [R.MetadataResponseBroker(node_id=n, host=f"h{n}", port=9092) for n in (1, 2, 3)]
KEYS = [ApiVersionsResponse.ApiVersion(api_key=3, min_version=0, max_version=12)]


class Slow:
    """A refresher and links; every broker greets at once and gives metadata `late_ms` later."""

    def __init__(self, late_ms, count):
        self.late_ms = late_ms
        self.world = World()
        self.links = self.world.links
        self.links.set_nodes(nodes(*range(1, count + 1)), 0)
        self.brokers = BROKERS[:count]
        self.view = Metadata()
        self.refresher = Refresher(
            RefreshConfig(), self.links, self.view, self.links._rng, self.world.events.append
        )
        self.coming = []
        self.asked = 0

    def _act(self, now):
        for action in self.world.actions():
            if isinstance(action, Connect):
                self.links.handle_connected(action.link, now)
                self._act(now)
            elif isinstance(action, Send):
                request = frames.decode_request(memoryview(action.data)[4:])
                if request.api_key == 18:
                    self._answer(action.link, request, ApiVersionsResponse(api_keys=KEYS), now)
                    self._act(now)
                    continue
                self.asked += 1
                heapq.heappush(self.coming, (now + self.late_ms, self.asked, action.link, request))

    def _answer(self, link, request, message, now):
        self.world.answer(link, request, message, now)

    def run(self, until_ms):
        now = 0
        while now < until_ms and not self.refresher.covered:
            self.links.handle_deadline(now)
            while self.coming and self.coming[0][0] <= now:
                _, _, link, request = heapq.heappop(self.coming)
                body = R(brokers=self.brokers, topics=[topic()])
                self._answer(link, request, body, now)
            self.world.settle(now)
            self.refresher.handle_tick(now)
            self._act(now)
            due = min(self.links.deadline(), self.refresher.deadline())
            now = max(now + 1, min([due, *(at for at, *_ in self.coming[:1])]))
        return now


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("late_ms", [2_900, 4_000, 8_000, 20_000])
def test_metadata_that_all_brokers_give_late_is_taken(late_ms, count):
    slow = Slow(late_ms, count)
    slow.refresher.set_topics({"t"})
    slow.run(120_000)
    assert slow.refresher.covered
    assert slow.view.partitions("t") == [0]


def test_what_was_given_up_brings_no_more_than_it_asked_for():
    """Who looks for what there is not waits for the later request, which asks for it."""
    slow = Slow(4_000, 2)
    refresher = slow.refresher
    refresher.set_topics({"t"})
    sent = []
    slow.links.send = lambda node, api, build, done, now_ms: sent.append((build(12), done))
    refresher.handle_tick(0)
    refresher.set_topics({"t", "u"})
    slow.links.silent = lambda node, now_ms: True
    slow.links.alarms += 1
    refresher.handle_tick(3_000)
    (_, late), (_, done) = sent
    late(Answer(R(brokers=BROKERS, topics=[topic()]), None, 12, 1), 4_000)
    assert (refresher.answered, refresher.requests) == (1, 2)
    assert not refresher.covered
    done(Answer(R(brokers=BROKERS, topics=[topic(), topic("u")]), None, 12, 2), 7_000)
    assert (refresher.answered, refresher.covered) == (2, True)


def test_what_comes_after_the_answer_to_a_later_request_is_no_news():
    slow = Slow(4_000, 2)
    slow.refresher.set_topics({"t"})
    sent = []
    slow.links.send = lambda node, api, build, done, now_ms: sent.append((build(12), done))
    slow.refresher.handle_tick(0)
    slow.links.silent = lambda node, now_ms: True
    slow.links.alarms += 1
    slow.refresher.handle_tick(3_000)
    (_, late), (_, done) = sent
    done(Answer(R(brokers=BROKERS[1:], topics=[topic()]), None, 12, 2), 4_000)
    late(Answer(R(brokers=BROKERS, topics=[topic()]), None, 12, 1), 5_000)
    assert [node.node_id for node in slow.view.nodes()] == [2, 3]
