"""Empty answers that a share consumer does not read: what is sent must be what reading them would
bring.
"""

import random

import pytest
from standing import Spied, repeated_of_asked

from kcore.actions import Send
from kcore.embedded.loop import CoreLoop
from kcore.errors import KafkaError
from kcore.share.config import ShareConsumerConfig
from kcore.share.core import ShareConsumerCore
from kcore.share.standing import StandingShareFetch
from kcore.structs import AcknowledgeType, TopicPartition
from kcore.wire import frames
from kcore.wire.apis import ApiKey
from kcore.wire.messages import ShareFetchRequest, ShareFetchResponse

ME = "me"
TOPICS = {"a": 4, "b": 2}


class SpiedCore(Spied, ShareConsumerCore):
    """See Spied."""


def opened(seed=1, nodes=2, **options):
    loop = CoreLoop(nodes, seed=seed)
    for topic, count in TOPICS.items():
        loop.call(lambda _, topic=topic, count=count: loop.cluster.topics.create(topic, count))
    config = ShareConsumerConfig.from_options(
        {
            "bootstrap_servers": loop.bootstrap,
            "client_id": ME,
            "group_id": "g",
            "share_acknowledgement_mode": "explicit",
            **options,
        }
    )
    core = SpiedCore(config, random.Random(seed), loop.now_ms)
    loop.add(core)
    return loop, core


def take(rng, loop, core):
    """Poll, and say what has become of all that came."""
    core.poll(loop.now_ms)
    loop.run()
    for tp, records in core.take_records(rng.choice([1, 5, None]), loop.now_ms).items():
        for record in records:
            kind = rng.choice([AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE])
            core.acknowledge(tp, record.offset, kind)


def wait(rng, loop, core):
    """Take all that there is, and wait for more for a while."""
    core.poll(loop.now_ms)
    loop.run()
    while core.has_records:
        take(rng, loop, core)
    loop.pass_time(rng.choice([500, 1_700, 3_200]))


def act(rng, loop, core):
    """Something that an application, a cluster or time does."""
    kind = rng.randrange(12)
    if kind < 5:
        loop.pass_time(rng.choice([1, 100, 249, 250, 251, 500, 501, 1_700, 3_200, 31_000]))
    elif kind < 7:
        topic = rng.choice(sorted(TOPICS))
        loop.produce(topic, [(None, b"x")] * rng.randint(1, 3), rng.randrange(TOPICS[topic]))
    elif kind == 7:
        take(rng, loop, core)
    elif kind == 8:
        wait(rng, loop, core)
    elif kind == 9:
        core.commit(loop.now_ms, 5_000)
    elif kind == 10:
        core.subscribe(rng.sample(sorted(TOPICS), rng.randint(1, 2)), loop.now_ms)
    else:
        core.rest()
    loop.run()


def story(seed, **options):
    loop, core = opened(seed, **options)
    rng = random.Random(seed)
    core.subscribe(TOPICS, loop.now_ms)
    loop.pass_time(10_000)
    for _ in range(80):
        try:
            act(rng, loop, core)
        except KafkaError:
            loop.run()
    loop.pass_time(3_000)
    return core.written


@pytest.mark.parametrize("seed", range(6))
def test_what_is_sent_is_what_reading_every_answer_would_send(seed, monkeypatch):
    options = [{}, {"share_acquire_mode": "record_limit", "max_poll_records": 2}][seed % 2]
    repeated, asked = repeated_of_asked(
        monkeypatch, StandingShareFetch, lambda: story(seed, **options)
    )
    assert repeated < asked
    assert (repeated > 0) == (not options)  # records one by one: nodes have turns


def idle(**options):
    """A share consumer that waits for records, between two empty answers."""
    loop, core = opened(nodes=1, **options)
    core.subscribe(TOPICS, loop.now_ms)
    loop.pass_time(10_000)
    core.poll(loop.now_ms)
    loop.run()
    loop.pass_time(1_200)
    node = core._exchange._nodes[1]
    assert node.fetching
    core.written.clear()
    return loop, core, node


def empty_answer(core, version=2, **fields):
    body = ShareFetchResponse(acquisition_lock_timeout_ms=core.acquisition_lock_timeout_ms)
    for name, value in fields.items():
        setattr(body, name, value)
    return memoryview(frames.encode_response(body, version, 7))[4:]


def ask(node, frame, version=2, now_ms=None):
    now_ms = node.asked_at + 500 if now_ms is None else now_ms
    return node.standing.again(frame, version, 8, ME, now_ms)


@pytest.mark.parametrize("version", [1, 2])
def test_the_request_is_one_that_any_broker_reads(version):
    _, core, node = idle()
    epoch = node.session.epoch
    for number in (1, 2):
        data = ask(node, empty_answer(core, version), version)
        request = frames.decode_request(memoryview(data)[4:])
        assert request.api_key is ApiKey.SHARE_FETCH
        assert (request.api_version, request.correlation_id) == (version, 8)
        assert request.client_id == ME
        assert request.message == ShareFetchRequest(
            group_id="g",
            member_id=core.member_id,
            share_session_epoch=epoch + number,
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=core.config.fetch_max_bytes,
            max_records=500,
            batch_size=500,
        )
        assert node.session.epoch == epoch + number


@pytest.mark.parametrize(
    "fields",
    [
        {"error_code": 122},
        {"error_message": "x"},
        {"throttle_time_ms": 1},
        {"acquisition_lock_timeout_ms": 1},
        {"responses": [ShareFetchResponse.ShareFetchableTopicResponse()]},
    ],
)
def test_an_answer_that_says_anything_is_read(fields):
    _, core, node = idle()
    epoch = node.session.epoch
    assert ask(node, empty_answer(core, **fields)) is None
    assert ask(node, empty_answer(core)[:-1]) is None
    assert ask(node, memoryview(bytes(empty_answer(core)) + b"\0")) is None
    assert node.session.epoch == epoch
    assert ask(node, empty_answer(core)) is not None


def test_an_answer_before_its_time_is_read():
    _, core, node = idle()
    began = node.asked_at
    for after_ms, comes in [(249, False), (250, True), (499, False), (500, True)]:
        again = ask(node, empty_answer(core), now_ms=began + after_ms)
        assert (again is not None) == comes


def test_locks_that_last_otherwise_from_now_on_are_another_answer():
    _, core, node = idle()
    assert ask(node, empty_answer(core)) is not None
    core._exchange._answers.lock_timeout_ms = 15_000
    assert ask(node, empty_answer(core)) is not None
    assert ask(node, empty_answer(core, acquisition_lock_timeout_ms=30_000)) is None


def _rests(loop, core, node):
    core.rest()


def _closes(loop, core, node):
    core._exchange.close()


def _has_failed(loop, core, node):
    node.failures = 1


def _leads_others(loop, core, node):
    node.leads = dict(node.leads)


def _looks_anew(loop, core, node):
    core._exchange.assign([TopicPartition("a", 0)])


def _has_no_session(loop, core, node):
    node.session.reset()


def _tells_on_the_way(loop, core, node):
    node.in_flight.append(object())


def _has_something_to_tell(loop, core, node):
    node.pending.append(object())


def _has_records(loop, core, node):
    core._stock._error = ValueError()


@pytest.mark.parametrize(
    "change",
    [
        _rests,
        _closes,
        _has_failed,
        _leads_others,
        _looks_anew,
        _has_no_session,
        _tells_on_the_way,
        _has_something_to_tell,
        _has_records,
    ],
)
def test_who_would_ask_otherwise_or_not_at_all_reads_the_answer(change):
    loop, core, node = idle()
    assert ask(node, empty_answer(core)) is not None
    change(loop, core, node)
    epoch = node.session.epoch
    assert ask(node, empty_answer(core)) is None
    assert node.session.epoch == epoch


def test_a_quiet_share_consumer_tells_nobody_and_ticks_no_room(monkeypatch):
    loop, core, node = idle()
    while core.next_event() is not None:
        pass
    turns = []
    monkeypatch.setattr(core, "_turn", turns.append)
    link = core._links._nodes[1].link
    (call,) = link._in_flight
    body = ShareFetchResponse(acquisition_lock_timeout_ms=core.acquisition_lock_timeout_ms)
    frame = frames.encode_response(body, call.version, call.correlation_id)
    core.receive_buffer(link.number)[: len(frame)] = frame
    now_ms = node.asked_at + 500
    assert core.receive_advance(link.number, len(frame), now_ms) == -1
    assert isinstance(core.next_action(), Send)
    assert (core.next_action(), core.next_event(), turns) == (None, None, [])
    assert call.expires_at == now_ms + node.standing.timeout_ms
