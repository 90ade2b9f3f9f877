"""Empty answers that nobody reads: what is sent must be what reading them would bring."""

import random

import pytest
from standing import Spied, repeated_of_asked

from kcore.actions import Send
from kcore.consumer.config import ConsumerConfig
from kcore.consumer.core import ConsumerCore
from kcore.embedded.loop import CoreLoop
from kcore.errors import KafkaError
from kcore.fetch.standing import StandingFetch
from kcore.structs import TopicPartition
from kcore.wire import frames
from kcore.wire.apis import ApiKey
from kcore.wire.messages import FetchRequest, FetchResponse

ME = "me"
TOPICS = {"a": 4, "b": 2}
ALL = [TopicPartition(topic, p) for topic, count in TOPICS.items() for p in range(count)]


class SpiedCore(Spied, ConsumerCore):
    """See Spied."""


def opened(seed=1, nodes=2, **options):
    loop = CoreLoop(nodes, seed=seed)
    for topic, count in TOPICS.items():
        loop.call(lambda _, topic=topic, count=count: loop.cluster.topics.create(topic, count))
        loop.produce(topic, [(None, b"first")], 1)
    config = ConsumerConfig.from_options(
        {
            "bootstrap_servers": loop.bootstrap,
            "client_id": ME,
            "auto_offset_reset": "earliest",
            **options,
        }
    )
    core = SpiedCore(config, random.Random(seed), loop.now_ms)
    loop.add(core)
    return loop, core


def take(loop, core, most=None):
    for _ in range(5):
        try:
            core.poll(loop.now_ms)
            core.take_records(most, loop.now_ms)
        except KafkaError:
            pass
        loop.run()


def act(rng, loop, core):
    """Something that an application, a cluster or time does."""
    assigned = sorted(core.assignment())
    some = rng.sample(assigned, rng.randint(0, len(assigned)))
    kind = rng.randrange(12)
    if kind < 4:
        loop.pass_time(rng.choice([1, 100, 249, 250, 251, 500, 501, 1_700, 3_200]))
    elif kind == 4:
        tp = rng.choice(ALL)
        loop.produce(tp.topic, [(None, b"x" * rng.choice([1, 3_000]))], tp.partition)
    elif kind in (5, 6):
        take(loop, core, rng.choice([1, 5, None]))
    elif kind == 7:
        core.pause(some)
    elif kind == 8:
        core.resume(sorted(core.paused()), loop.now_ms)
        take(loop, core)
    elif kind == 9 and some:
        core.seek(some[0], rng.randrange(4), loop.now_ms)
    elif kind == 10:
        core.assign(rng.sample(ALL, rng.randint(1, len(ALL))), loop.now_ms)
    else:
        core.fetch_metadata(None, loop.now_ms, 5_000)
    loop.run()


def story(seed, **options):
    loop, core = opened(seed, **options)
    rng = random.Random(seed)
    core.assign(ALL, loop.now_ms)
    loop.run()
    for _ in range(80):
        act(rng, loop, core)
    loop.pass_time(3_000)
    return core.written


@pytest.mark.parametrize("seed", range(6))
def test_what_is_sent_is_what_reading_every_answer_would_send(seed, monkeypatch):
    options = [{}, {"max_buffered_bytes": 4_000, "max_partition_fetch_bytes": 1_000}][seed % 2]
    repeated, asked = repeated_of_asked(
        monkeypatch, StandingFetch, lambda: story(seed, **options)
    )
    assert 0 < repeated < asked


def fetches(core):
    """The fetch requests since the last look, decoded."""
    found = [frames.decode_request(memoryview(data)[4:]) for data in core.written]
    core.written.clear()
    return [one for one in found if one.api_key is ApiKey.FETCH]


def idle(**options):
    """A consumer that has nothing to read, between two empty answers."""
    loop, core = opened(nodes=1, **options)
    core.assign(ALL, loop.now_ms)
    loop.run()
    loop.pass_time(5)
    while core.has_records:
        core.take_records(None, loop.now_ms)
    loop.pass_time(1_200)
    plan = core._fetcher._planner.nodes[1]
    core.written.clear()
    return loop, core, plan


def empty_answer(plan, version=18, **fields):
    body = FetchResponse(session_id=plan.session.id)
    for name, value in fields.items():
        setattr(body, name, value)
    return memoryview(frames.encode_response(body, version, 7))[4:]


def ask(plan, frame, version=18, now_ms=None):
    now_ms = plan.sent_at + 500 if now_ms is None else now_ms
    return plan.standing.again(frame, version, 8, ME, now_ms)


@pytest.mark.parametrize("version", range(7, 19))
def test_the_request_is_one_that_any_broker_reads(version):
    _, _, plan = idle()
    epoch = plan.session.epoch
    for number in (1, 2):
        data = ask(plan, empty_answer(plan, version), version)
        request = frames.decode_request(memoryview(data)[4:])
        assert (request.api_version, request.correlation_id) == (version, 8)
        assert request.client_id == ME
        assert request.message == FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=plan.reserved,
            session_id=plan.session.id,
            session_epoch=epoch + number,
        )
        assert plan.session.epoch == epoch + number


@pytest.mark.parametrize(
    "fields",
    [
        {"error_code": 70},
        {"throttle_time_ms": 1},
        {"session_id": 1},
        {"responses": [FetchResponse.FetchableTopicResponse()]},
    ],
)
def test_an_answer_that_says_anything_is_read(fields):
    _, _, plan = idle()
    epoch = plan.session.epoch
    assert ask(plan, empty_answer(plan, **fields)) is None
    assert ask(plan, empty_answer(plan)[:-1]) is None
    assert ask(plan, memoryview(bytes(empty_answer(plan)) + b"\0")) is None
    assert plan.session.epoch == epoch
    assert ask(plan, empty_answer(plan)) is not None


@pytest.mark.parametrize("what", ["session", "bytes"])
def test_another_session_or_size_is_another_request(what):
    _, _, plan = idle()
    assert ask(plan, empty_answer(plan)) is not None
    if what == "session":
        plan.session.id += 1
    else:
        plan.reserved //= 2
    data = ask(plan, empty_answer(plan))
    request = frames.decode_request(memoryview(data)[4:]).message
    assert (request.session_id, request.max_bytes) == (plan.session.id, plan.reserved)


def test_an_answer_before_its_time_is_read():
    _, _, plan = idle()
    began = plan.sent_at
    for after_ms, comes in [(249, False), (250, True), (499, False), (500, True)]:
        again = ask(plan, empty_answer(plan), now_ms=began + after_ms)
        assert (again is not None) == comes


def test_who_was_answered_early_or_waits_for_memory_is_seen_to():
    _, core, plan = idle()
    plan.early = 1
    assert ask(plan, empty_answer(plan)) is None
    plan.early = 0
    starving = core._fetcher._planner.starving
    starving[plan] = None
    assert ask(plan, empty_answer(plan)) is None
    starving.clear()
    assert ask(plan, empty_answer(plan)) is not None


def test_epochs_begin_again_on_the_long_way():
    _, _, plan = idle()
    plan.session.epoch = 0x7FFFFFFF
    assert ask(plan, empty_answer(plan)) is None


def test_a_quiet_consumer_tells_nobody_and_ticks_no_room(monkeypatch):
    loop, core, plan = idle()
    while core.next_event() is not None:
        pass
    turns = []
    monkeypatch.setattr(core, "_turn", turns.append)
    link = core._links._nodes[1].link.number
    (call,) = core._links._nodes[1].link._in_flight
    frame = frames.encode_response(
        FetchResponse(session_id=plan.session.id), 18, call.correlation_id
    )
    core.receive_buffer(link)[: len(frame)] = frame
    now_ms = plan.sent_at + 500
    assert core.receive_advance(link, len(frame), now_ms) == -1
    assert isinstance(core.next_action(), Send)
    assert (core.next_action(), core.next_event(), turns) == (None, None, [])
    assert call.expires_at == now_ms + plan.standing.timeout_ms
