"""The client's half of telemetry alone: what is asked when, and what follows from each answer."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from pushed_metrics import ID, ID_TEXT, pushed, subscription

from kcore.connection.calls import Answer
from kcore.errors import (
    ConsumerStoppedError,
    DisconnectedError,
    KafkaTimeoutError,
    UnsupportedVersionError,
)
from kcore.meters import Reading
from kcore.telemetry.reporter import DEFAULT_INTERVAL_MS, LAST_PUSH_MS, Reporter
from kcore.telemetry.states import TABLE, TelemetryInput, TelemetryState
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import GetTelemetrySubscriptionsResponse, PushTelemetryResponse
from kcore.wire.otlp import CUMULATIVE, DELTA

GET, PUSH = ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY
WALL_MS = 1_000_000


class Desk:
    """Brokers that keep what they are asked, and a client at a time that a test moves on."""

    request_timeout_ms = 30_000

    def __init__(self, seed=0):
        self.now = 0
        self.node = 1  # who serves telemetry; None: nobody
        self.connected = True
        self.asked = []
        self.events = []
        self.ended = {}
        self.values = {"fetch-rate": 1.5, "fetch-total": 10.0}
        self.reporter = Reporter(
            self, random.Random(seed), self.events.append, self.finish,
            self.measured, lambda: {"group_id": "g"}, 0, WALL_MS,
        )  # fmt: skip

    def measured(self, _now_ms):
        return [
            Reading("consumer-fetch-manager-metrics", (), dict(self.values)),
            Reading(
                "consumer-node-metrics", (("node-id", "node-1"),), {"request-latency-avg": 2.0}
            ),
        ]

    def finish(self, operation, result, error):
        assert operation not in self.ended
        self.ended[operation] = result if error is None else error

    # Brokers
    def node_serving(self, _api):
        return self.node

    def range_of(self, _api):
        return None if self.node is None else (0, 0)

    def least_loaded(self, _now_ms):
        return None

    def next_retry_at(self):
        return 0

    def send(self, node, api, build, done, now_ms, *, timeout_ms=None):
        assert now_ms == self.now
        self.asked.append(SimpleNamespace(node=node, api=api, body=build(0), done=done, at=now_ms))
        self.timeout_ms = timeout_ms

    # the test
    def run_until(self, at_ms):
        while (due := self.reporter.deadline()) <= at_ms:
            self.now = max(due, self.now)
            before = len(self.asked)
            self.reporter.handle_tick(self.now)
            if len(self.asked) > before:
                return self.asked[-1]
            assert self.reporter.deadline() > self.now  # else it spins
        self.now = at_ms
        return None

    def next(self, limit_ms=10 * DEFAULT_INTERVAL_MS):
        asked = self.run_until(self.now + limit_ms)
        assert asked is not None
        return asked

    def answer(self, body=None, error=None):
        self.asked[-1].done(Answer(body, error, 0, self.asked[-1].node), self.now)
        self.reporter.handle_tick(self.now)

    def subscribe(self, **fields):
        asked = self.next()
        assert asked.api is GET
        self.answer(subscription(**fields))
        return asked

    def push(self):
        asked = self.next()
        assert asked.api is PUSH
        return asked

    @property
    def state(self):
        return self.reporter.state


@pytest.mark.parametrize("state", TelemetryState)
@pytest.mark.parametrize("what", TelemetryInput)
def test_every_cell_ends_in_a_known_state(state, what):
    found = TABLE[state].get(what)
    assert found is None or isinstance(found, TelemetryState)
    if state is not TelemetryState.TERMINATED:
        assert TelemetryInput.OVER in TABLE[state]


def test_it_asks_at_once_and_pushes_what_is_wanted():
    desk = Desk()
    first = desk.subscribe(requested_metrics=["org.apache.kafka.consumer.fetch."])
    assert first.at == 0
    assert first.body.client_instance_id == bytes(16)
    assert desk.reporter.client_instance_id == ID_TEXT
    asked = desk.push()
    assert (asked.body.client_instance_id, asked.body.subscription_id) == (ID, 5)
    assert not asked.body.terminating
    found = pushed(asked.body)
    assert [(one.name, one.kind, one.value, one.temporality) for one in found] == [
        ("org.apache.kafka.consumer.fetch.manager.fetch.rate", "gauge", 1.5, 0),
        ("org.apache.kafka.consumer.fetch.manager.fetch.total", "sum", 10.0, CUMULATIVE),
    ]
    assert found[0].resource == {"group_id": "g"}


def test_all_metrics_have_their_attributes():
    desk = Desk()
    desk.subscribe()
    (latency,) = [one for one in pushed(desk.push().body) if one.attributes]
    assert latency.name == "org.apache.kafka.consumer.node.request.latency.avg"
    assert latency.attributes == {"node_id": "node-1"}


def test_the_first_push_is_spread_and_the_others_are_regular():
    firsts = set()
    for seed in range(40):
        desk = Desk(seed=seed)
        desk.subscribe()
        first = desk.push()
        firsts.add(first.at)
        assert 5_000 <= first.at <= 15_000
        desk.answer(PushTelemetryResponse())
        assert desk.push().at == first.at + 10_000
    assert max(firsts) - min(firsts) > 5_000


def test_nothing_is_wanted_and_later_something_is():
    desk = Desk()
    desk.subscribe(requested_metrics=[])
    assert desk.state is TelemetryState.SUBSCRIPTION_NEEDED
    again = desk.subscribe()
    assert again.at == 10_000
    assert again.body.client_instance_id == ID
    desk.push()


def delta_of(asked):
    (found,) = [one for one in pushed(asked.body) if one.name.endswith("fetch.total")]
    assert found.temporality == DELTA
    return found.value


def test_deltas_are_of_what_was_taken():
    desk = Desk()
    desk.subscribe(delta_temporality=True)

    def total():
        return delta_of(desk.push())

    assert total() == 10
    desk.answer(PushTelemetryResponse())
    desk.values["fetch-total"] = 15.0
    assert total() == 5
    desk.answer(error=DisconnectedError("gone"))
    desk.subscribe(delta_temporality=True)
    desk.values["fetch-total"] = 16.0
    assert total() == 6  # with what was lost


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_it_is_packed_as_the_broker_likes_it_best(codec):
    desk = Desk()
    desk.subscribe(accepted_compression_types=[99, codec, 1])
    asked = desk.push()
    assert asked.body.compression_type == codec
    assert len(pushed(asked.body)) == 3


def test_a_codec_that_is_refused_is_not_tried_again():
    desk = Desk()
    desk.subscribe(accepted_compression_types=[4, 1])
    assert desk.push().body.compression_type == 4
    at = desk.now
    desk.answer(PushTelemetryResponse(error_code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE))
    assert desk.asked[-1].api is GET
    assert desk.asked[-1].at == at
    desk.answer(subscription(accepted_compression_types=[4, 1]))
    assert desk.push().body.compression_type == 1


def test_a_new_subscription_is_fetched_at_once_but_not_for_ever():
    desk = Desk()
    desk.subscribe()
    desk.push()
    at = desk.now
    desk.answer(PushTelemetryResponse(error_code=ErrorCode.UNKNOWN_SUBSCRIPTION_ID))
    assert (desk.asked[-1].api, desk.asked[-1].at) == (GET, at)
    for _ in range(5):
        desk.answer(GetTelemetrySubscriptionsResponse(error_code=ErrorCode.UNKNOWN_SUBSCRIPTION_ID))
        assert desk.next().at > at
        at = desk.now
    desk.answer(subscription(subscription_id=6))
    assert desk.push().body.subscription_id == 6


@pytest.mark.parametrize(
    "code", [ErrorCode.TELEMETRY_TOO_LARGE, ErrorCode.THROTTLING_QUOTA_EXCEEDED]
)
def test_what_is_too_much_is_tried_after_an_interval(code):
    desk = Desk()
    desk.subscribe()
    desk.push()
    at = desk.now
    desk.answer(PushTelemetryResponse(error_code=code))
    again = desk.subscribe()
    assert again.at == at + 10_000
    desk.push()
    assert desk.events[-1].error.errno == code


def test_what_was_too_large_is_less_the_next_time():
    desk = Desk()
    desk.values = {f"m{n}": 1.0 for n in range(100)}
    desk.subscribe()
    before = desk.push()
    desk.answer(PushTelemetryResponse(error_code=ErrorCode.TELEMETRY_TOO_LARGE))
    desk.subscribe()
    after = desk.push()
    assert len(after.body.metrics) <= len(before.body.metrics) // 2
    desk.answer(PushTelemetryResponse())
    assert desk.events[-1].left_out
    assert desk.events[-1].points + desk.events[-1].left_out == len(pushed(before.body))


def test_it_keeps_to_what_the_broker_takes():
    desk = Desk()
    desk.values = {f"m{n}": 1.0 for n in range(100)}
    desk.subscribe(telemetry_max_bytes=1000)
    asked = desk.push()
    assert 800 < len(asked.body.metrics) <= 1000
    assert all(not one.attributes for one in pushed(asked.body))  # of the whole client first


TAKEN_CARE_OF = {
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_SUBSCRIPTION_ID,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    ErrorCode.TELEMETRY_TOO_LARGE,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED,
}


@pytest.mark.parametrize("api", [GET, PUSH])
def test_any_other_refusal_ends_it(api):
    for code in set(ErrorCode) - TAKEN_CARE_OF:
        desk = Desk()
        if api is PUSH:
            desk.subscribe()
            desk.push()
            desk.answer(PushTelemetryResponse(error_code=code))
        else:
            desk.next()
            desk.answer(GetTelemetrySubscriptionsResponse(error_code=code))
        assert desk.state is TelemetryState.TERMINATED
        assert desk.reporter.deadline() == NEVER
        assert desk.events[-1].error.errno == code


@pytest.mark.parametrize("pushing", [False, True])
def test_requests_that_get_lost_are_tried_ever_more_slowly(pushing):
    desk = Desk()
    if pushing:
        desk.subscribe()
        desk.push()
    at = desk.now
    waits = []
    for _ in range(12):
        if not desk.asked:
            desk.next()
        desk.answer(error=DisconnectedError("gone"))
        desk.next()
        waits.append(desk.now - at)
        at = desk.now
    assert 800 <= waits[0] <= 1_200
    assert waits[-1] > 100_000
    assert max(waits) <= DEFAULT_INTERVAL_MS
    desk.answer(subscription())
    desk.push()


def test_a_node_without_telemetry_is_asked_rarely():
    desk = Desk()
    desk.subscribe()
    desk.push()
    at = desk.now
    desk.answer(error=UnsupportedVersionError("no such API"))
    assert desk.next().at == at + 10_000


def test_while_nobody_serves_it_nothing_is_due():
    desk = Desk()
    desk.node = None
    desk.reporter.handle_tick(0)
    assert desk.reporter.deadline() == NEVER
    desk.node, desk.now = 2, 70
    desk.reporter.handle_tick(70)  # a link has changed
    assert desk.asked[-1].node == 2


def test_without_any_connection_one_is_looked_for_now_and_then():
    desk = Desk()
    desk.subscribe()
    desk.node, desk.connected = None, False
    assert desk.run_until(100_000) is None
    desk.node = 1
    assert desk.next().at > 100_000


def test_odd_answers_are_made_good():
    desk = Desk()
    desk.subscribe(push_interval_ms=-5, telemetry_max_bytes=0, client_instance_id=bytes(16))
    assert desk.reporter.client_instance_id is None
    assert desk.push().at >= DEFAULT_INTERVAL_MS // 2


# -- the id ----------------------------------------------------------------------------------------


def test_the_id_is_told_when_it_is_there():
    desk = Desk()
    desk.reporter.tell_id(1, 5_000)
    desk.reporter.handle_tick(0)
    assert not desk.ended
    desk.answer(subscription())
    assert desk.ended == {1: ID_TEXT}
    desk.reporter.tell_id(2, 5_000)
    desk.reporter.handle_tick(0)
    assert desk.ended[2] == ID_TEXT


def test_nobody_gives_an_id_in_time():
    desk = Desk()
    desk.reporter.tell_id(1, 5_000)
    desk.next()
    assert desk.run_until(6_000) is None
    assert isinstance(desk.ended[1], KafkaTimeoutError)


def test_nobody_gives_ids_at_all():
    desk = Desk()
    desk.node = None
    desk.reporter.tell_id(1, 5_000)
    desk.reporter.handle_tick(0)
    assert isinstance(desk.ended[1], UnsupportedVersionError)


def test_who_waits_for_an_id_hears_of_the_end():
    desk = Desk()
    desk.next()
    desk.reporter.tell_id(1, 5_000)
    desk.reporter.handle_tick(0)
    assert desk.reporter.ended(0, 100)
    assert isinstance(desk.ended[1], ConsumerStoppedError)


# -- the end ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", ["asking", "waiting", "pushing"])
def test_the_last_push_says_so(at):
    desk = Desk()
    desk.subscribe()
    if at == "pushing":
        desk.push()
    if at == "asking":
        desk = Desk()
        desk.next()
        assert desk.reporter.ended(desk.now, desk.now + 1_000)
        assert len(desk.asked) == 1  # nobody has subscribed
        return
    earlier = desk.asked[-1]
    assert not desk.reporter.ended(desk.now, desk.now + 1_000)
    last = desk.asked[-1]
    assert (last.api, last.body.terminating) == (PUSH, True)
    assert desk.timeout_ms == 1_000
    earlier.done(Answer(PushTelemetryResponse(), None, 0, 1), desk.now)  # means nothing any more
    assert not desk.reporter.ended(desk.now, desk.now + 1_000)
    desk.answer(PushTelemetryResponse())
    assert desk.reporter.ended(desk.now, desk.now + 1_000)
    assert desk.asked[-1] is last


def test_what_is_under_way_at_the_end_is_not_told_again():
    desk = Desk()
    desk.subscribe(delta_temporality=True)
    desk.push()
    desk.values["fetch-total"] = 12.0
    assert not desk.reporter.ended(desk.now, desk.now + 1_000)
    assert [delta_of(asked) for asked in desk.asked[-2:]] == [10, 2]


def test_a_client_does_not_wait_for_its_last_push_for_long():
    desk = Desk()
    desk.subscribe()
    assert not desk.reporter.ended(desk.now, desk.now + 60_000)
    assert desk.reporter.deadline() == desk.now + LAST_PUSH_MS
    assert not desk.reporter.ended(desk.now + LAST_PUSH_MS - 1, desk.now + 60_000)
    assert desk.reporter.ended(desk.now + LAST_PUSH_MS, desk.now + 60_000)


def test_without_time_or_a_node_there_is_no_last_push():
    desk = Desk()
    desk.subscribe()
    desk.node = None
    assert desk.reporter.ended(desk.now, desk.now + 1_000)
    desk = Desk()
    desk.subscribe()
    assert desk.reporter.ended(desk.now, desk.now)
    assert [one.api for one in desk.asked] == [GET]


def test_a_last_push_that_fails_is_the_last():
    desk = Desk()
    desk.subscribe()
    desk.reporter.ended(desk.now, desk.now + 1_000)
    desk.answer(error=DisconnectedError("gone"))
    assert desk.reporter.ended(desk.now, desk.now + 1_000)


@pytest.mark.parametrize("at", ["asking", "pushing", "closing"])
def test_what_was_struck_is_asked_again(at):
    desk = Desk()
    if at == "asking":
        asked = desk.next()
    else:
        desk.subscribe()
        if at == "pushing":
            asked = desk.push()
        else:
            desk.reporter.ended(desk.now, desk.now + 1_000)
            asked = desk.asked[-1]
    desk.reporter.recover(desk.now)
    asked.done(Answer(None, DisconnectedError("struck"), -1, 1), desk.now)
    if at == "closing":
        assert desk.reporter.ended(desk.now, desk.now + 1_000)
    else:
        assert desk.next().api is GET
