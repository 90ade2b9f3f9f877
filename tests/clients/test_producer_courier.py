"""Who wakes whom: calls that end at once while the courier is between two turns."""

import contextlib
import gc
import subprocess
import sys
import threading
import time
import warnings

import pytest

from kcore import Producer
from kcore.embedded import EmbeddedBroker
from kcore.errors import ConcurrentUseError, KafkaError, KafkaTimeoutError
from kcore.limits import AWAY_MS


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(in_memory=True) as broker:
        broker.create_topic("t", 1)
        yield broker


@pytest.fixture
def producer(broker):
    with Producer(
        transport=broker.transport(), bootstrap_servers=broker.bootstrap, linger_ms=0
    ) as producer:
        yield producer


def watch_turns(courier):
    """How many events nobody has looked at, each time the pump is to wait for the network."""
    step, overlooked = courier._pump.step, []

    def watch(timeout_ms=None):
        if timeout_ms != 0:  # else it only looks
            overlooked.append(len(courier.core.unread))
        return step(timeout_ms)

    courier._pump.step = watch
    return overlooked


def hold_courier(producer):
    """Keep the courier in a callback, where it neither waits nor has the lock; `set` lets it go."""
    inside, go_on = threading.Event(), threading.Event()

    def hold(_):
        inside.set()
        go_on.wait(10)

    producer.send("t", b"v").add_callback(hold)
    assert inside.wait(10)
    return go_on


@pytest.mark.parametrize(
    "call", [lambda p: p.flush(5), lambda p: p.close(0)], ids=["flush", "close"]
)
@pytest.mark.parametrize("away_s", [0.05, 0.05 + 1.5 * AWAY_MS / 1000])
def test_what_ends_at_once_between_two_turns_is_seen(producer, call, away_s):
    go_on = hold_courier(producer)
    overlooked = watch_turns(producer._courier)
    lets_go = threading.Timer(away_s, go_on.set)
    lets_go.start()
    call(producer)  # both are over as soon as they are asked for: nothing is under way
    lets_go.join()
    assert not any(overlooked)  # else it waited for the network, with the answer at hand


def test_who_waits_is_woken_by_turns_that_may_help(producer):
    courier, asked, room = producer._courier, [], []

    def done():
        asked.append(len(room))
        return bool(room)

    thread = threading.Thread(target=courier.wait, args=(done, 30, None, lambda: bool(room)))
    thread.start()
    while not courier._bells:
        time.sleep(0.001)
    for _ in range(5):
        producer.send("t", b"v").get(10)
    assert asked == [0]
    room.append("some")
    producer.send("t", b"v").get(10)
    thread.join(10)
    assert not thread.is_alive()
    assert asked == [0, 1]


def test_a_flush_in_a_callback_with_nothing_under_way_ends(producer):
    ended = threading.Event()
    overlooked = watch_turns(producer._courier)
    producer.send("t", b"v").add_callback(lambda _: (producer.flush(5), ended.set()))
    assert ended.wait(10)
    assert not any(overlooked)


# Nobody closes it ---------------------------------------------------------------------------------


def wait_for(done):
    until = time.monotonic() + 10
    while not done():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_producer_that_is_dropped_delivers_and_its_thread_ends(broker):
    producer = Producer(
        transport=broker.transport(), bootstrap_servers=broker.bootstrap, linger_ms=60_000
    )
    future = producer.send("t", b"v")
    courier = producer._courier
    before = {thread for thread in threading.enumerate() if thread.name == "kcore-producer"}
    with pytest.warns(ResourceWarning, match=r"dropped without close\(\)"):
        del producer
    assert future.get(10).offset >= 0
    wait_for(lambda: courier.over)
    wait_for(lambda: not all(thread.is_alive() for thread in before))


def test_a_producer_that_was_closed_is_dropped_in_silence(broker):
    producer = Producer(transport=broker.transport(), bootstrap_servers=broker.bootstrap)
    producer.close()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        del producer
        gc.collect()
    assert [one for one in said if one.category is ResourceWarning] == []


def test_the_end_of_the_program_waits_for_what_was_sent():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        program = (
            "import sys; from kcore import Producer;"
            "producer = Producer(bootstrap_servers=sys.argv[1], linger_ms=60_000);"
            "[producer.send('t', b'v') for _ in range(1000)]"
        )
        subprocess.run([sys.executable, "-c", program, broker.bootstrap], timeout=60, check=True)
        assert broker.end_offsets("t") == [1000]


def test_a_producer_whose_thread_failed_is_closed_and_dropped_in_silence(broker):
    producer = Producer(transport=broker.transport(), bootstrap_servers=broker.bootstrap)
    courier = producer._courier
    with courier.lock:
        courier._pump.step = lambda *_: 1 / 0
        courier._pump.wakeup()
    wait_for(lambda: courier.stopped)
    producer.close()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        del producer
        gc.collect()
    assert [one for one in said if one.category is ResourceWarning] == []


def test_a_thread_that_fails_fails_what_it_held_and_close_says_so(broker):
    said = []
    producer = Producer(
        transport=broker.transport(), bootstrap_servers=broker.bootstrap, linger_ms=60_000
    )
    future = producer.send("t", b"important")
    future.add_errback(said.append)
    courier = producer._courier
    with courier.lock:
        courier._pump.step = lambda *_: 1 / 0
        courier._pump.wakeup()
    with pytest.raises(KafkaError, match="division by zero"):
        future.get(10)
    assert future.failed()
    with pytest.raises(KafkaError, match="division by zero"):
        producer.send("t", b"too late")
    with pytest.raises(KafkaError, match="1 records were not delivered"):
        producer.close()
    producer.close()
    assert len(said) == 1


def test_a_callback_that_asks_for_the_end_of_all_fails_what_was_held(broker, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    def end(_):
        raise KeyboardInterrupt

    producer = Producer(transport=broker.transport(), bootstrap_servers=broker.bootstrap)
    producer.send("t", b"v").add_callback(end)

    def go_on():
        for _ in range(1_000):
            producer.send("t", b"v").get(10)
            time.sleep(0.001)

    with pytest.raises(KafkaError, match="KeyboardInterrupt"):
        go_on()
    with contextlib.suppress(KafkaError):  # whether any were held then is a matter of luck
        producer.close()
    producer.close()


def test_the_courier_is_woken_for_the_first_that_lingers_and_nobody_lingers_longer(broker):
    broker.create_topic("four", 4)
    with Producer(
        transport=broker.transport(), bootstrap_servers=broker.bootstrap, linger_ms=300
    ) as producer:
        for number in range(4):  # lanes are there, and the courier waits
            producer.send("four", b"v", partition=number)
        producer.flush(10)
        woken, wake = [], producer._courier._pump.wakeup

        def count():
            woken.append(time.monotonic())
            wake()

        producer._courier._pump.wakeup = count
        futures, begun = [], []
        for number in range(4):
            begun.append(time.monotonic())
            futures += [producer.send("four", b"v", partition=number) for _ in range(100)]
            time.sleep(0.04)
        took = []
        for future in futures[::100]:
            while not future.is_done:
                time.sleep(0.001)
            took.append(time.monotonic())
        assert len(woken) == 1
        for begins, ends in zip(begun, took, strict=True):
            assert ends - begins >= 0.29
            assert ends - begins < 5  # a machine may be slow; without a deadline it is for ever


def test_batches_that_become_full_meanwhile_go_together(broker):
    broker.create_topic("together", 4)
    with Producer(
        transport=broker.transport(),
        bootstrap_servers=broker.bootstrap,
        linger_ms=0,
        batch_size=1_000,
    ) as producer:

        def send_all():
            for number in range(4):
                producer.send("together", bytes(900), partition=number)

        send_all()
        producer.flush(10)
        go_on = hold_courier(producer)
        before = producer.metrics()["producer-metrics"]["request-total"]
        for _ in range(6):
            send_all()
        go_on.set()
        producer.flush(10)
        found = producer.metrics()["producer-metrics"]
    assert found["request-total"] - before == 6  # of one batch of each partition


# What takes its time in the courier ---------------------------------------------------------------


class Held:
    """Stands before a call, and holds up whoever makes it while it is shut."""

    def __init__(self, call, shut=True):
        self.call = call
        self.shut = shut
        self.inside, self.go_on = threading.Event(), threading.Event()

    def __call__(self, *given):
        if self.shut:
            self.inside.set()
            self.go_on.wait(10)
        return self.call(*given)

    def open(self):
        self.shut = False
        self.go_on.set()


@contextlib.contextmanager
def a_producer_whose_resolver_is_silent(broker, **options):
    transport = broker.transport()
    held = transport.resolve = Held(transport.resolve)
    with Producer(
        transport=transport,
        bootstrap_servers=broker.bootstrap,
        api_version=(4, 1),
        linger_ms=0,
        **options,
    ) as producer:
        try:
            assert held.inside.wait(10)
            yield producer, held
        finally:
            held.open()


def test_nobody_waits_longer_than_they_like_for_a_resolver(broker):
    with a_producer_whose_resolver_is_silent(broker, max_block_ms=50) as (producer, held):
        begun = time.monotonic()
        with pytest.raises(KafkaTimeoutError, match="max_block_ms=50"):
            producer.send("t", b"v")
        assert time.monotonic() - begun < 5
        held.open()
        wait_for(producer.bootstrap_connected)
        assert producer.partitions_for("t") == {0}


def test_what_ends_while_a_resolver_is_silent_is_told_behind_it(broker):
    with a_producer_whose_resolver_is_silent(broker) as (producer, held):
        transport = producer._courier._transport._transport
        transport.watch = lambda *_: None  # nobody answers there
        thread = threading.Thread(target=producer.flush)
        thread.start()
        wait_for(lambda: producer._courier.core.unread)
        held.open()
        thread.join(5)
        assert not thread.is_alive()  # else it waited for the connection
        producer.close(0)


def test_who_is_struck_while_a_resolver_is_silent_has_the_core_begin_anew(broker):
    with a_producer_whose_resolver_is_silent(broker) as (producer, held):
        courier, resolve, fed = producer._courier, held.call, []
        core = courier.core
        anew, closed = core.handle_interrupted, core.handle_closed
        core.handle_interrupted = lambda *given: fed.append("struck") or anew(*given)
        core.handle_closed = lambda *given, **more: fed.append("closed") or closed(*given, **more)
        def find_nothing(*_):
            held.call = resolve
            raise OSError("nobody knows")

        held.call = find_nothing
        with pytest.raises(ZeroDivisionError), courier.lock:
            _ = 1 / 0
        assert fed == []  # the courier is in the middle of an action
        held.open()
        wait_for(lambda: "closed" in fed)
        assert producer.send("t", b"v").get(10).offset >= 0
        assert fed == ["struck", "closed"]
        assert not courier.lock.struck


class SlowTokens:
    """A provider that waits where it gets its tokens from."""

    def __init__(self):
        self.token = Held(lambda: "a-token")


def test_nobody_waits_longer_than_they_like_for_a_provider_of_tokens():
    provider, said = SlowTokens(), []
    with (
        EmbeddedBroker(
            security_protocol="SASL_PLAINTEXT",
            sasl_oauth_token_validator=lambda _: ("alice", None),
        ) as broker,
        Producer(
            bootstrap_servers=broker.bootstrap,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=provider,
            api_version=(4, 1),
            max_block_ms=50,
        ) as producer,
    ):
        assert provider.token.inside.wait(10)
        begun = time.monotonic()
        with pytest.raises(KafkaTimeoutError, match="max_block_ms=50"):
            producer.send("t", b"v")
        assert time.monotonic() - begun < 5

        def ask_for_more():
            with contextlib.suppress(ConcurrentUseError):
                said.append(producer.flush(5))
            said.append("refused")
            return "a-token"

        provider.token.call = ask_for_more  # what it waits for is the courier's, which waits for it
        provider.token.open()
        wait_for(producer.bootstrap_connected)
        assert said[0] == "refused"
