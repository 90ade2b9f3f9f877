"""Share groups of a real Kafka: several members, other people's, members and leaders that die."""

import subprocess
import sys
import threading
import time

import pytest
from sharer import Sharer
from strikes import Strike

import kcore
from kcore import errors
from kcore.events import HeartbeatAnswered

WAIT_S = 30


@pytest.fixture
def share(names):
    made = []

    def make(cluster, **options):
        made.append(
            kcore.ShareConsumer(
                names.topic, bootstrap_servers=cluster.bootstrap, group_id=names.group, **options
            )
        )
        return made[-1]

    yield make
    for consumer in made:
        consumer.close(timeout_ms=5_000)


def read_until(consumer, done, wait_s=WAIT_S):
    """(value, delivery count) of all that it is given until `done(them)`."""
    found, until = [], time.monotonic() + wait_s
    while not done(found) and time.monotonic() < until:
        for records in consumer.poll(200).values():
            found += [(int(record.value), record.delivery_count) for record in records]
    return found


def transactional(cluster, topic, *transactions):
    """Records in transactions of their own: (values, whether it is committed)."""
    name = f"tx-{topic}"
    with kcore.Producer(bootstrap_servers=cluster.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
        for values, commits in transactions:
            producer.begin_transaction()
            for value in values:
                producer.send(topic, b"%d" % value)
            producer.flush()
            (producer.commit_transaction if commits else producer.abort_transaction)()


@pytest.mark.parametrize("transport", ["selectors", "gevent"])
def test_by_other_transports(kafka, share_topic, share, transport):
    share_topic(kafka, 700)
    if transport == "gevent":
        pytest.importorskip("gevent")
    consumer = share(kafka, transport=transport)
    found = read_until(consumer, lambda found: len(found) >= 700)
    assert found == [(number, 1) for number in range(700)]
    assert list(consumer.commit().values()) == [None]


OTHER_CODECS = [pytest.param(codec, marks=pytest.mark.slow) for codec in ("gzip", "snappy", "lz4")]


@pytest.mark.parametrize("codec", [*OTHER_CODECS, "zstd"])
def test_compressed_batches(kafka, share_topic, share, names, codec):
    share_topic(kafka, 0)
    rows = ((None, b"%d" % number) for number in range(400))
    kafka.produce(names.topic, rows, **{"compression.type": codec})
    found = read_until(share(kafka), lambda found: len(found) >= 400)
    assert found == [(number, 1) for number in range(400)]


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.slow
def test_transactions_are_the_groups_business(kafka, share_topic, share, names, isolation):
    share_topic(kafka, 0, isolation_level=isolation)
    transactions = [(range(5), True), (range(5, 10), False), (range(10, 15), True)]
    transactional(kafka, names.topic, *transactions)
    wanted = [*range(5), *range(10, 15)] if isolation == "read_committed" else [*range(15)]
    consumer = share(kafka, share_acknowledgement_mode="explicit")
    seen, until = [], time.monotonic() + WAIT_S
    while len(seen) < len(wanted) and time.monotonic() < until:
        for records in consumer.poll(200).values():
            for record in records:
                seen.append((int(record.value), record.delivery_count))
                consumer.acknowledge(record)
    assert seen == [(number, 1) for number in wanted]
    assert set(consumer.commit().values()) <= {None}
    consumer.close()
    assert read_until(share(kafka), bool, 2) == []  # neither records nor markers are left


@pytest.mark.slow
def test_no_more_records_are_acquired_than_are_asked_for(kafka, share_topic, share):
    share_topic(kafka, 300)
    few = share(kafka, share_acquire_mode="record_limit", max_poll_records=10)
    first = read_until(few, bool)
    assert len(first) == 10
    rest = read_until(share(kafka), lambda found: len(found) >= 290, 10)
    assert sorted(number for number, _ in first + rest) == list(range(300))


@pytest.mark.slow
def test_a_loop_that_ends_accepts_what_it_has_gone_past(kafka, share_topic, share):
    share_topic(kafka, 20)
    consumer = share(kafka)
    for record in consumer:
        if record.value == b"7":
            break
    consumer.close()
    again = read_until(share(kafka), lambda found: len(found) >= 13)
    assert again == [(number, 2) for number in range(7, 20)]


@pytest.mark.slow
def test_a_poll_behind_a_loop_goes_on_where_that_stopped(kafka, share_topic, share):
    share_topic(kafka, 20)
    consumer = share(kafka)
    for record in consumer:
        if record.value == b"7":
            break
    assert list(consumer.commit().values()) == [None]
    assert read_until(consumer, bool) == [(number, 1) for number in range(8, 20)]
    consumer.commit()
    consumer.close()
    assert read_until(share(kafka), bool, 2) == []


@pytest.mark.slow
def test_a_handler_may_take_longer_than_a_session(kafka, share_topic, share, names):
    share_topic(kafka, 5, session_timeout_ms=2_000, heartbeat_interval_ms=300)
    consumer, seen = share(kafka), []
    assert len(read_until(consumer, lambda found: len(found) >= 5)) == 5
    consumer.observe(seen.append)
    time.sleep(4)
    with kcore.Admin(bootstrap_servers=kafka.bootstrap) as admin:
        (member,) = admin.describe_groups([names.group])[names.group]["members"]
    assert member["member_id"] == consumer.member_id
    assert list(consumer.commit().values()) == [None]
    beats = [event for event in seen if isinstance(event, HeartbeatAnswered)]
    assert len(beats) > 4
    assert {event.error for event in beats} == {None}  # it was a member all the time


@pytest.mark.slow
def test_wakeup_ends_a_poll(kafka, share_topic, share):
    share_topic(kafka, 0)
    consumer = share(kafka)
    consumer.poll()
    threading.Timer(0.3, consumer.wakeup).start()
    with pytest.raises(errors.WakeupError):
        consumer.poll(20_000)


@pytest.mark.slow
def test_one_thread_at_a_time(kafka, share_topic, share):
    share_topic(kafka, 0)
    consumer = share(kafka)
    thread = threading.Thread(target=consumer.poll, args=(1_500,))
    thread.start()
    time.sleep(0.5)
    with pytest.raises(errors.ConcurrentUseError):
        consumer.poll()
    thread.join()


@pytest.mark.slow
def test_what_ctrl_c_took_from_a_poll_comes_again(kafka, share_topic, share, names):
    """Struck at many places: every record is handed over, and none is accepted unseen."""
    share_topic(kafka, 1)
    consumer = share(kafka)
    assert read_until(consumer, bool) == [(0, 1)]
    struck = 0
    for number in range(1, 40):
        kafka.produce(names.topic, [(None, b"%d" % number)])
        found = {}
        try:
            with Strike(29 * number):
                found = consumer.poll(2_000)
        except KeyboardInterrupt:
            struck += 1
        values = [int(record.value) for records in found.values() for record in records]
        if number not in values:  # others come first if their acceptance was struck on its way
            rest = read_until(consumer, lambda rest, wanted=number: wanted in dict(rest), 10)
            values += [value for value, _ in rest]
        assert number in values
    assert struck > 10


MEMBER = """
import sys, kcore
consumer = kcore.ShareConsumer(sys.argv[2], bootstrap_servers=sys.argv[1], group_id=sys.argv[3])
while True:
    for records in consumer.poll(500).values():
        print(*[int(record.value) for record in records], flush=True)
        sys.stdin.readline()
"""


def test_a_member_that_dies_has_its_records_given_to_others(kafka, share_topic, share, names):
    share_topic(kafka, 50)
    command = [sys.executable, "-c", MEMBER, kafka.bootstrap, names.topic, names.group]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as member:
        assert len(member.stdout.readline().split()) == 50
        member.kill()
    started = time.monotonic()
    found = read_until(share(kafka), lambda found: len(found) >= 50)
    assert sorted(found) == [(number, 2) for number in range(50)]
    assert time.monotonic() - started < 20  # long before their locks have run out


def test_beside_the_share_consumers_of_others(kafka, share_topic, share, names, installation):
    """Java's, confluent's and ours in one group: each record is handled by one of them."""
    share_topic(kafka, 0, partitions=2)
    written = 0
    tool = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
    where = ("--bootstrap-server", kafka.bootstrap, "--topic", names.topic)
    command = installation.command(tool, *where, "--group", names.group)
    theirs = Sharer(kafka.bootstrap, names.group, names.topic)
    ours, seen = share(kafka, max_poll_records=50), {"ours": [], "confluent's": [], "Java's": []}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as java:
        reader = threading.Thread(
            target=lambda: seen["Java's"].extend(int(line) for line in java.stdout)
        )
        reader.start()
        try:
            until = time.monotonic() + 90
            while time.monotonic() < until:
                if written < 3_000 or not all(seen.values()):  # a JVM may take its time to begin
                    rows = [(None, b"%d" % number) for number in range(written, written + 200)]
                    written += kafka.produce(names.topic, rows)
                elif sum(map(len, seen.values())) >= written:
                    break
                seen["confluent's"] += [int(value) for value in theirs.poll(0.1)]
                for records in ours.poll(100).values():
                    seen["ours"] += [int(record.value) for record in records]
            ours.commit()
            theirs.commit_sync()
        finally:
            java.terminate()
            reader.join(10)
            theirs.close()
    assert sorted(number for some in seen.values() for number in some) == [*range(written)]
    assert all(seen.values()), {who: len(some) for who, some in seen.items()}


@pytest.mark.slow
def test_a_leader_that_dies_loses_no_record(kafka3, share_topic, share, names):
    share_topic(kafka3, 0, partitions=3)
    members = [share(kafka3, max_poll_records=30, request_timeout_ms=8_000) for _ in range(2)]
    seen: list[int] = []
    for start in range(0, 3_000, 100):
        rows = [(None, b"%d" % number) for number in range(start, start + 100)]
        kafka3.produce(names.topic, rows)
        if start == 1_000:
            kafka3.kill(0)
        for member in members:
            for records in member.poll(100).values():
                seen += [int(record.value) for record in records]
    until = time.monotonic() + 60
    while len(set(seen)) < 3_000 and time.monotonic() < until:
        for member in members:
            for records in member.poll(300).values():
                seen += [int(record.value) for record in records]
    assert set(seen) == set(range(3_000))
