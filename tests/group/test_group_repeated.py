"""Heartbeats and commits that say the same again: what happens must be what the long way brings."""

import random
from collections import deque

import pytest
from longer import quickly

from kcore.actions import Send
from kcore.connection.calls import ANSWERED
from kcore.consumer.config import ConsumerConfig
from kcore.consumer.core import ConsumerCore
from kcore.embedded.loop import CoreLoop
from kcore.errors import KafkaError
from kcore.events import HeartbeatAnswered, OffsetsCommitted
from kcore.group.autocommit import AutoCommit
from kcore.group.member import GroupMember
from kcore.group.repeated import Repeated
from kcore.structs import TopicPartition
from kcore.wire import frames
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
)

ME = "me"
TOPICS = {"a": 3, "b": 2}


class Spied(ConsumerCore):
    """Keeps all it sends, with the time, and all it tells; reads in place, as drivers do."""

    def __init__(self, loop, *args):
        self.loop = loop
        self.written = []
        self.told = []
        self.turns = 0
        super().__init__(*args)

    def _turn(self, now_ms):
        self.turns += 1
        super()._turn(now_ms)

    def next_action(self):
        action = super().next_action()
        if isinstance(action, Send):
            self.written.append((self.loop.now_ms, bytes(action.data)))
        elif action is None:
            self.deadline()  # as drivers do whenever they have drained
        return action

    def handle_data(self, link, data, now_ms):
        while data and link in self._links._by_number:
            room = self.receive_buffer(link)
            count = min(len(room), len(data))
            room[:count] = data[:count]
            data = data[count:]
            self.receive_advance(link, count, now_ms)

    def look(self):
        """Events go to `told`; the deadline is none that would be missed."""
        while (event := self.next_event()) is not None:
            self.told.append(repr(event))
        said, elsewhere = self.deadline(), self._due_elsewhere
        self._due = -1
        found = self.deadline()
        self._due, self._due_elsewhere = said, elsewhere
        assert said <= found

    def sent(self, api):
        """When a request of this kind was sent, and what, since the last look."""
        found = []
        for at_ms, data in self.written:
            request = frames.decode_request(memoryview(data)[4:])
            if request.api_key is api:
                found.append((at_ms, request.message))
        self.written.clear()
        return found


class LateLoop(CoreLoop):
    """One in which answers take `late_ms`, so that much can happen between."""

    late_ms = 0

    def __init__(self, *args, **options):
        self._held = deque()
        super().__init__(*args, **options)

    def _obey_node(self, action):
        if not self.late_ms:
            super()._obey_node(action)
        else:
            self._held.append((self.now_ms + self.late_ms, action))

    def pass_time(self, ms):
        until = self.now_ms + ms
        while self._held and self._held[0][0] <= until:
            at_ms, action = self._held[0]
            super().pass_time(max(at_ms - self.now_ms, 0))
            if self._held and self._held[0][1] is action:
                self._held.popleft()
                super()._obey_node(action)
        super().pass_time(max(until - self.now_ms, 0))


def cluster(seed=1):
    loop = LateLoop(2, seed=seed)
    for topic, count in TOPICS.items():
        loop.call(lambda _, topic=topic, count=count: loop.cluster.topics.create(topic, count))
        for partition in range(count):
            loop.produce(topic, [(None, b"first")], partition)
    return loop


def join(loop, seed=1, **options):
    config = ConsumerConfig.from_options(
        {
            "bootstrap_servers": loop.bootstrap,
            "client_id": ME,
            "group_id": "g",
            "auto_offset_reset": "earliest",
            **options,
        }
    )
    core = Spied(loop, config, random.Random(seed), loop.now_ms)
    loop.add(core)
    core.subscribe(TOPICS, loop.now_ms)
    loop.run()
    return core


def take(loop, core):
    for _ in range(3):
        try:
            core.poll(loop.now_ms)
            core.take_records(None, loop.now_ms)
        except KafkaError:
            pass
        loop.run()
    core.look()


def idle(**options):
    """A member to whom nothing happens, and that knows all answers."""
    loop = cluster()
    core = join(loop, **options)
    for _ in range(16):
        loop.pass_time(1_000)
        take(loop, core)
    assert core._group.stable
    core.written.clear()
    core.told.clear()
    return loop, core


# -- the same as the long way ------------------------------------------------------------------


def live(rng, loop, core, cores):
    """Everybody goes on polling for a while."""
    for _ in range(rng.randint(1, 8)):
        loop.pass_time(rng.choice([100, 900, 1_000, 1_500]))
        for one in cores:
            take(loop, one)


def sleep(rng, loop, core, cores):
    """Nobody polls."""
    loop.pass_time(rng.choice([1, 2_999, 3_000, 5_000, 7_777]))


def write(rng, loop, core, cores):
    topic = rng.choice(list(TOPICS))
    loop.produce(topic, [(None, b"x")], rng.randrange(TOPICS[topic]))


def commit(rng, loop, core, cores):
    if core.assignment():
        core.commit(None, loop.now_ms, 5_000)


def seek(rng, loop, core, cores):
    if core.assignment():
        core.seek(min(core.assignment()), 0, loop.now_ms)


def rejoin(rng, loop, core, cores):
    core.request_rejoin("asked for", loop.now_ms)


def subscribe(rng, loop, core, cores):
    core.subscribe(rng.sample(sorted(TOPICS), rng.randint(1, 2)), loop.now_ms)


def committed(rng, loop, core, cores):
    core.committed([TopicPartition(rng.choice(list(TOPICS)), 0)], loop.now_ms, 5_000)


def cut(rng, loop, core, cores):
    links = [entry.link for entry in core._links._nodes.values() if entry.link is not None]
    if links:
        core.handle_closed(rng.choice(links).number, "cut", loop.now_ms)


ACTS = [live] * 7 + [sleep, sleep, write, commit, seek, rejoin, subscribe, committed, cut]


def story(seed):
    """What two members send, when, and what they tell."""
    loop = cluster(seed)
    cores = [join(loop, seed), join(loop, seed + 1, enable_auto_commit=seed % 3 != 0)]
    rng = random.Random(seed)
    loop.late_ms = seed % 4 * 9
    for _ in range(60):
        rng.choice(ACTS)(rng, loop, rng.choice(cores), cores)
        loop.run()
        for core in cores:
            core.look()
    return [(core.written, core.told) for core in cores], sum(core.turns for core in cores)


@pytest.mark.parametrize("seed", quickly(4, of=8))
def test_what_is_sent_and_told_is_what_the_long_way_brings(seed, monkeypatch):
    counts = dict.fromkeys(["again", "member", "commit"], 0)

    def counted(cls, name, key):
        real = getattr(cls, name)

        def spy(self, *args):
            found = real(self, *args)
            counts[key] += found not in {None, False}
            return found

        monkeypatch.setattr(cls, name, spy)

    counted(Repeated, "again", "again")
    counted(GroupMember, "repeat", "member")
    counted(AutoCommit, "repeat", "commit")
    short, turns = story(seed)
    assert all(counts.values()), counts
    monkeypatch.setattr(Repeated, "again", lambda self, *args: None)
    monkeypatch.setattr(GroupMember, "repeat", lambda self, now_ms: False)
    monkeypatch.setattr(AutoCommit, "repeat", lambda self, now_ms: False)
    long, all_turns = story(seed)
    for (written, told), (written_long, told_long) in zip(short, long, strict=True):
        assert told == told_long
        assert written == written_long
    assert turns < all_turns


# -- an idle member ------------------------------------------------------------------------------


def test_a_heartbeat_of_an_idle_member_asks_no_room():
    loop, core = idle()
    turns, events = core.turns, []
    beats, answers = [], []
    deadline, advance = core.handle_deadline, core.receive_advance
    core.handle_deadline = lambda now_ms: beats.append(deadline(now_ms)) or beats[-1]
    core.receive_advance = lambda *args: answers.append(advance(*args)) or answers[-1]
    group_due = core._group.calm_deadline()
    loop.pass_time(group_due - loop.now_ms)
    ((at_ms, request),) = core.sent(ApiKey.HEARTBEAT)
    assert at_ms == group_due
    assert request.member_id == core.group_metadata().member_id
    assert (set(beats), set(answers)) == ({False}, {-1})
    assert core.turns == turns
    while (event := core.next_event()) is not None:
        events.append(event)
    assert events == [HeartbeatAnswered(core.group_metadata().generation_id, 0)]


def test_a_commit_of_an_idle_member_asks_no_room_and_is_told():
    loop, core = idle()
    turns = core.turns
    answers = []
    advance = core.receive_advance
    core.receive_advance = lambda *args: answers.append(advance(*args)) or answers[-1]
    for _ in range(5):
        loop.pass_time(1_000)
        core.poll(loop.now_ms)
        core.take_records(None, loop.now_ms)
        loop.run()
    ((_, request),) = core.sent(ApiKey.OFFSET_COMMIT)
    assert sum(len(topic.partitions) for topic in request.topics) == 5
    assert core.turns == turns
    assert 0 in answers  # the application is told at once
    told = []
    while (event := core.next_event()) is not None:
        told.append(event)
    (committed,) = [event for event in told if isinstance(event, OffsetsCommitted)]
    assert committed.offsets == core.consumed_offsets()
    assert committed.error is None


@pytest.mark.parametrize("interval", [0, 7, 100, 999])
def test_a_short_interval_is_no_haste_to_say_the_same(interval):
    """By whatever way it is said."""
    loop, core = idle(auto_commit_interval_ms=interval)
    for _ in range(2_000):
        loop.pass_time(5)
        core.poll(loop.now_ms)
        core.take_records(None, loop.now_ms)
        loop.run()
    assert 8 <= len(core.sent(ApiKey.OFFSET_COMMIT)) <= 11
    loop.produce("a", [(None, b"x")], 0)
    loop.pass_time(600)  # it is fetched
    for _ in range(3):  # what is handed over in one poll is committed in one behind it
        loop.pass_time(interval + 1)
        core.poll(loop.now_ms)
        core.take_records(None, loop.now_ms)
        loop.run()
    *_, (_, request) = core.sent(ApiKey.OFFSET_COMMIT)
    assert 2 in {part.committed_offset for one in request.topics for part in one.partitions}


def test_who_does_not_poll_commits_nothing():
    loop, core = idle()
    loop.pass_time(60_000)
    assert core.sent(ApiKey.OFFSET_COMMIT) == []


def test_the_limit_of_a_request_that_was_repeated_is_kept():
    """Nobody answers any more: the link is given up as ever."""
    loop, core = idle(request_timeout_ms=2_000)
    loop._obey_node = lambda action: None
    due = core._group.calm_deadline()
    loop.pass_time(due - loop.now_ms)
    core.look()
    assert core._group.coordinator_known
    loop.pass_time(2_000)
    core.look()
    assert any(told.startswith("CoordinatorLost") for told in core.told)


def test_a_heartbeat_that_went_out_in_a_turn_of_all_rooms_is_followed_by_the_next_in_time():
    """While it was under way, the next one was none that anybody would have to be woken for."""
    loop, core = idle(enable_auto_commit=False)
    loop.pass_time(core._group.calm_deadline() - loop.now_ms - 1)
    loop.now_ms += 1
    core.resume([], loop.now_ms)
    loop.run()
    begin = loop.now_ms
    loop.pass_time(30_000)
    beats = [at_ms for at_ms, _ in core.sent(ApiKey.HEARTBEAT) if at_ms > begin]
    assert beats == [begin + 3_000 * number for number in range(1, 11)]


@pytest.mark.parametrize("late_ms", [2_999, 3_000, 3_001, 9_000])
def test_a_heartbeat_whose_answer_is_late_is_followed_by_the_next_at_once(late_ms):
    loop, core = idle(enable_auto_commit=False)
    held = []
    give, loop._obey_node = loop._obey_node, held.append
    begin = core._group.calm_deadline()
    loop.pass_time(begin - loop.now_ms + late_ms)
    loop._obey_node = give
    for action in held:
        give(action)
    loop.run()
    loop.pass_time(6_000)
    beats = [at_ms - begin for at_ms, _ in core.sent(ApiKey.HEARTBEAT) if at_ms >= begin]
    second = max(late_ms, 3_000)
    assert beats[:3] == [0, second, second + 3_000]


def test_who_waits_for_events_is_told_to_poll_before_it_is_too_late():
    """As `Pump.step` without a timeout does: what it may keep to itself, it does."""
    loop, core = idle(enable_auto_commit=False, max_poll_interval_ms=10_000)
    told = []
    deadline = core.handle_deadline
    core.handle_deadline = lambda now_ms: told.append((now_ms, deadline(now_ms)))
    polled_at = loop.now_ms
    loop.pass_time(9_000)
    assert [result for at_ms, result in told if at_ms - polled_at < 5_000] == [False]
    assert [result for at_ms, result in told if at_ms - polled_at >= 5_000] == [None, None]


# -- one request -------------------------------------------------------------------------------


def asked(repeated, version, message, made_for="x"):
    """The request as it is sent: encoded by the link, or a frame already."""
    built = repeated.ask(made_for, lambda _: message, lambda _: True)(version)
    if isinstance(built, bytearray):
        frames.renumber_request(built, 99)
        return bytes(built)
    return built


def answer(repeated, body, version, number=7):
    frame = memoryview(frames.encode_response(body, version, number))[4:]
    return repeated.again(frame, version, 0, ME, 0)


def known(version, message, body):
    """One that has seen a good answer."""
    repeated = Repeated()
    assert asked(repeated, version, message) is message
    assert answer(repeated, body, version) is None
    repeated.read(good=True)
    return repeated


BEAT = HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
COMMIT = OffsetCommitRequest(
    group_id="g",
    generation_id_or_member_epoch=3,
    member_id="m",
    topics=[
        OffsetCommitRequest.OffsetCommitRequestTopic(
            name="t",
            partitions=[
                OffsetCommitRequest.OffsetCommitRequestPartition(
                    partition_index=0, committed_offset=5, committed_metadata=""
                )
            ],
        )
    ],
)
CASES = [
    (BEAT, HeartbeatResponse(), version)
    for version in range(
        API_TABLE[ApiKey.HEARTBEAT].min_version, API_TABLE[ApiKey.HEARTBEAT].max_version + 1
    )
] + [
    (COMMIT, OffsetCommitResponse(), version)
    for version in range(2, API_TABLE[ApiKey.OFFSET_COMMIT].max_version)
]


@pytest.mark.parametrize(("message", "body", "version"), CASES)
def test_the_frame_is_what_encoding_would_give(message, body, version):
    repeated = known(version, message, body)
    for _ in range(2):
        assert asked(repeated, version, message) == frames.encode_request(message, version, 99, ME)
        assert repeated.busy
        assert answer(repeated, body, version) is ANSWERED
        assert not repeated.busy


@pytest.mark.parametrize("what", ["error", "throttle", "cut", "longer"])
def test_an_answer_that_differs_is_read(what):
    repeated = known(4, BEAT, HeartbeatResponse())
    asked(repeated, 4, BEAT)
    body = HeartbeatResponse(
        error_code=27 if what == "error" else 0, throttle_time_ms=1 if what == "throttle" else 0
    )
    frame = frames.encode_response(body, 4, 7)[4:]
    frame = {"cut": frame[:-1], "longer": frame + b"\0"}.get(what, frame)
    assert repeated.again(memoryview(frame), 4, 0, ME, 0) is None
    repeated.read(good=False)
    asked(repeated, 4, BEAT)
    assert repeated.again(memoryview(frame), 4, 0, ME, 0) is None
    assert answer(repeated, HeartbeatResponse(), 4) is ANSWERED


def test_a_good_answer_that_was_not_shown_says_nothing_of_one_before():
    """Where others have to be heard the link reads an answer without showing it first."""
    repeated = Repeated()
    asked(repeated, 4, BEAT)
    bad = HeartbeatResponse(error_code=27)
    assert answer(repeated, bad, 4) is None
    repeated.read(good=False)
    asked(repeated, 4, BEAT)
    repeated.read(good=True)
    assert asked(repeated, 4, BEAT) is BEAT
    assert answer(repeated, bad, 4) is None


def test_another_request_or_version_begins_anew():
    repeated = known(4, BEAT, HeartbeatResponse())
    assert isinstance(asked(repeated, 4, BEAT), bytes)
    assert asked(repeated, 3, BEAT) is BEAT
    repeated = known(4, BEAT, HeartbeatResponse())
    assert asked(repeated, 4, BEAT, made_for="y") is BEAT
    assert answer(repeated, HeartbeatResponse(), 4) is None


def test_who_has_more_to_do_with_the_answer_has_it_read():
    repeated = known(4, BEAT, HeartbeatResponse())
    repeated.ask("x", lambda _: BEAT, lambda _: False)(4)
    assert answer(repeated, HeartbeatResponse(), 4) is None
    assert repeated.busy


@pytest.mark.parametrize("size", [0, 11])
def test_what_is_no_request_is_not_renumbered(size):
    with pytest.raises(ValueError, match="no request frame"):
        frames.renumber_request(bytearray(size), 1)
