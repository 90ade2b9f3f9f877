"""Quotas: the same requests to a real Kafka and to the embedded broker. What is set and found, the
texts with what is wrong, and how long clients are to wait, to the ms where clocks allow for it.

What a Kafka 4.4.0 said of what is set and found is kept in vectors/quotas_said.json
(tests/support/said.py).
"""

import struct
import time
from pathlib import Path

import pytest
from raw_client import Link, Peer, exactly
from said import hold
from scenarios_data import batch, creating, fetch, produce

import kcore
from kcore.broker import BrokerConfig
from kcore.embedded import EmbeddedBroker
from kcore.wire import messages as m

SAID = Path(__file__).with_name("vectors") / "quotas_said.json"
# Clocks go on between what is compared, and a Kafka's windows with them.
SLACK_MS = 1_000


@pytest.fixture(scope="module")
def ours():
    with EmbeddedBroker(config=BrokerConfig(auto_create_topics=False)) as broker:
        yield broker.addresses[0]
        assert not broker.faults, broker.faults


@pytest.fixture(scope="module")
def addresses(ours, kafka):
    return ours, kafka.bootstrap


def alter(*entries, dry=False):
    Alter = m.AlterClientQuotasRequest
    return Alter(
        entries=[
            Alter.EntryData(
                entity=[Alter.EntityData(entity_type=kind, entity_name=name) for kind, name in of],
                ops=[
                    Alter.OpData(key=key, value=value or 0.0, remove=value is None)
                    for key, value in ops
                ],
            )
            for of, ops in entries
        ],
        validate_only=dry,
    )


def describe(*components, strict=False):
    Describe = m.DescribeClientQuotasRequest
    return Describe(
        components=[
            Describe.ComponentData(entity_type=kind, match_type=match, match=name)
            for kind, match, name in components
        ],
        strict=strict,
    )


A, B, C = [("user", "a")], [("user", "b")], [("client-id", "c")]
BOTH = [("client-id", "c"), ("user", None)]
RATE = [("producer_byte_rate", 1024.0)]
NAN, INF = float("nan"), float("inf")


def ip(name):
    return [("ip", name)]


def connections(value):
    return [("connection_creation_rate", value)]


CHANGES = [
    [(A, RATE)],
    [([], RATE)],
    [([("user", "")], RATE)],
    [([("nope", "a")], RATE)],
    [([("user", "a"), ("user", "b")], RATE)],
    [([("ip", "1.2.3.4"), ("user", "a")], RATE)],
    [(ip("1.2.3.4"), RATE)],
    [(ip("not an ip!"), connections(1.0))],
    [(ip("no.such.host.invalid"), connections(1.0))],
    [(ip("localhost"), connections(100.0))],
    [(ip(None), connections(1.5))],
    [(ip(None), connections(3e9))],
    [(ip("1.2.3.4"), connections(5.0))],
    [(ip(""), connections(1.0))],
    [(ip("::1"), connections(7.0))],
    [(A, [("nope", 1.0)])],
    [(A, [("producer_byte_rate", 0.0)])],
    [(A, [("producer_byte_rate", -1.0)])],
    [(A, [("producer_byte_rate", 1.5)])],
    [(A, [("producer_byte_rate", 0.9)])],
    [(A, [("producer_byte_rate", 1.0000001)])],
    [(A, [("producer_byte_rate", 1e30)])],
    [(A, [("consumer_byte_rate", NAN)])],
    [(A, [("request_percentage", INF)])],
    [(A, [("request_percentage", 0.5), ("consumer_byte_rate", 17.0)])],
    [(BOTH, [("controller_mutation_rate", 0.5)])],
    [(C, connections(1.0))],
    [(C, [("nope", None)])],
    [(C, [("consumer_byte_rate", 1e6)])],
    [(A, [("producer_byte_rate", 5.0), ("producer_byte_rate", 6.0)])],
    [(A, [("producer_byte_rate", 5.0), ("nope", 6.0)])],
    [([("user", "z")], [])],
    [(A, [("consumer_byte_rate", None)])],
    [(A, RATE), (A, [("consumer_byte_rate", 7.0)])],
    [(A, RATE), (B, [("x", 7.0)])],
]
QUESTIONS = [
    [],
    [("user", 0, "a")],
    [("user", 0, "nobody")],
    [("user", 0, None)],
    [("user", 1, None)],
    [("user", 1, "x")],
    [("user", 2, None)],
    [("user", 2, "q")],
    [("user", 9, None)],
    [("", 2, None)],
    [("nope", 2, None)],
    [("user", 2, None), ("user", 0, "a")],
    [("ip", 2, None), ("user", 0, "a")],
    [("ip", 2, None)],
    [("ip", 0, "1.2.3.4")],
    [("user", 2, None), ("client-id", 2, None)],
    [("user", 2, None), ("client-id", 0, "c")],
    [("user", 1, None), ("client-id", 0, "c")],
    [("client-id", 0, "c")],
]


def altered(answer):
    """Rows in no order; nor are the parts of an entity in any."""
    return sorted(
        (
            sorted((part.entity_type, part.entity_name) for part in row.entity),
            row.error_code,
            row.error_message,
        )
        for row in answer.entries
    )


def described(answer):
    rows = answer.entries
    found = rows and sorted(
        repr((
            sorted(((part.entity_type, part.entity_name) for part in row.entity), key=repr),
            sorted((value.key, value.value) for value in row.values),
        ))
        for row in rows
    )  # fmt: skip
    return answer.error_code, answer.error_message, found


def told_of_changes(address):
    link, said = Link(address), []
    for changes in CHANGES:
        said += [
            (repr(changes), dry, altered(link.ask(alter(*changes, dry=dry), 1)))
            for dry in (True, False)
        ]
    settled(link)
    for question in QUESTIONS:
        for strict in (False, True):
            answer = link.ask(describe(*question, strict=strict), 1)
            said.append((question, strict, described(answer)))
    clear(link)
    link.close()
    return said


def settled(link):
    """What was altered is known: a Kafka's brokers hear of it from the controller."""
    link.ask(alter(([("user", "last")], [("request_percentage", 77.0)])), 1)
    while not link.ask(describe(("user", 0, "last")), 1).entries:
        pass
    link.ask(alter(([("user", "last")], [("request_percentage", None)])), 1)
    while link.ask(describe(("user", 0, "last")), 1).entries:
        pass


def clear(link):
    for row in link.ask(describe(), 1).entries:
        of = [(part.entity_type, part.entity_name) for part in row.entity]
        link.ask(alter((of, [(value.key, None) for value in row.values])), 1)
    settled(link)


def test_quotas_are_altered_and_found_as_a_kafka_did(ours):
    hold(SAID, "set and found", told_of_changes(ours))


@pytest.mark.kafka
@pytest.mark.slow
def test_a_kafka_alters_and_finds_them_as_before(kafka):
    hold(SAID, "set and found", told_of_changes(kafka.bootstrap), theirs=True)


# How long one waits -------------------------------------------------------------------------------


def client(peer, name):
    """Another connection, which does not wait for those before it."""
    made = peer._links[f"{name} {len(peer._links)}"] = Link(peer.address, name)
    return made


def quota(link, entity, **rates):
    answer = link.ask(alter((entity, list(rates.items()))), 1)
    assert not any(row.error_code for row in answer.entries), answer
    settled(link)


EVERYBODY = [("user", "ANONYMOUS")]


def who(peer):
    """A client that has used nothing yet."""
    return [("client-id", peer.tag)]


def producing(peer):
    """The first requests are above the quota more and more."""
    topic = peer.topic()
    quota(peer.link(), who(peer), producer_byte_rate=1000.0)
    link, other = client(peer, peer.tag), client(peer, "quick")
    for size in (5_000, 5_000, 5_000, 1):
        yield link.ask(produce(topic, batch(b"x" * size)), 9).throttle_time_ms
        link = client(peer, peer.tag)
    yield other.ask(produce(topic, batch(b"x" * 50_000)), 9).throttle_time_ms
    quota(peer.link(), EVERYBODY, producer_byte_rate=2000.0)  # comes before a client's
    yield link.ask(produce(topic, batch(b"x" * 30_000)), 9).throttle_time_ms
    yield other.ask(produce(topic, batch(b"x" * 1_000)), 9).throttle_time_ms
    quota(peer.link(), [*who(peer), *EVERYBODY], producer_byte_rate=50_000.0)  # before both
    another = client(peer, peer.tag)
    yield another.ask(produce(topic, batch(b"x" * 1_000)), 9).throttle_time_ms


def consuming(peer):
    topic = peer.topic()
    # A Kafka cuts batches off where there is no more room, but for the first.
    peer.link().ask(produce(topic, batch(b"x" * 12_000)), 9)
    quota(peer.link(), who(peer), consumer_byte_rate=1000.0)
    for _ in range(4):
        link = client(peer, peer.tag)
        answer = link.ask(fetch(topic), 12)
        yield answer.throttle_time_ms
        yield 10_000 * len(answer.responses)
    # No more is given at once than can be had without waiting, but for a first batch.
    link = client(peer, "slow-2")
    quota(peer.link(), [("client-id", "slow-2")], consumer_byte_rate=100.0)
    answer = link.ask(fetch(topic), 12)
    yield answer.throttle_time_ms
    yield 10_000 * len(answer.responses)


def consuming_in_a_session(peer):
    topic = peer.topic()
    link = client(peer, peer.tag)
    full = link.ask(fetch(topic, session_epoch=0), 12)
    quota(peer.link(), who(peer), consumer_byte_rate=1000.0)
    for epoch, size in ((1, 3_000), (2, 10_000), (3, 0)):
        if size:
            peer.link().ask(produce(topic, batch(b"x" * size)), 9)
        asked = fetch(topic, 0 if epoch == 1 else 1)
        asked.session_id, asked.session_epoch = full.session_id, epoch
        answer = link.ask(asked, 12)
        yield answer.throttle_time_ms
        yield 10_000 * (answer.session_id == full.session_id)
        yield 10_000 * answer.error_code
        yield 10_000 * len(answer.responses)


def mutating(peer):
    """Old versions may always, and wait; new ones are refused when the bucket is overdrawn."""
    quota(peer.link(), who(peer), controller_mutation_rate=1.0)
    for version, partitions in ((5, 8), (5, 5), (6, 1), (7, 1), (5, 4), (7, 2)):
        link = client(peer, peer.tag)
        name = peer.name(f"m{version}-{partitions}")
        answer = link.ask(creating(name, partitions), version)
        yield answer.throttle_time_ms
        yield 10_000 * answer.topics[0].error_code
        peer.said.append((name, answer.topics[0].error_message))
    Extend, Delete = m.CreatePartitionsRequest, m.DeleteTopicsRequest
    name = peer.name("m5-8")
    for version in (2, 3):
        link = client(peer, peer.tag)
        topics = [Extend.CreatePartitionsTopic(name=name, count=12 + version, assignments=None)]
        asked = Extend(topics=topics, timeout_ms=5_000)
        answer = link.ask(asked, version)
        yield answer.throttle_time_ms
        yield 10_000 * answer.results[0].error_code
        peer.said.append((version, answer.results[0].error_message))
    for version, gone in ((4, name), (5, peer.name("m5-5"))):
        link = client(peer, peer.tag)
        answer = link.ask(Delete(topic_names=[gone], timeout_ms=5_000), version)
        yield answer.throttle_time_ms
        yield 10_000 * answer.responses[0].error_code
        peer.said.append((version, answer.responses[0].error_message))


def trying(peer):
    """What is only tried, and what cannot be."""
    quota(peer.link(), who(peer), controller_mutation_rate=1.0)
    link = client(peer, peer.tag)
    tried = (("d", 11, True), ("d", 5, True), ("d", 1, False), ("a/b", 9, False))
    for name, partitions, dry in tried:
        answer = link.ask(creating(peer.name(name), partitions, validate_only=dry), 7)
        yield answer.throttle_time_ms
        yield 10_000 * answer.topics[0].error_code


WAITS = [producing, consuming, consuming_in_a_session, mutating, trying]


def waits(scenario, address):
    peer = Peer(address, scenario.__name__)
    peer.link().ask(m.MetadataRequest(topics=[]), 12)
    try:
        return list(scenario(peer)), peer.said
    finally:
        clear(peer.link("b"))
        peer.close()


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("scenario", WAITS, ids=lambda scenario: scenario.__name__)
def test_who_is_above_a_quota_waits_as_long(scenario, addresses):
    (ours, said), (theirs, also) = (waits(scenario, address) for address in addresses)
    assert len(ours) == len(theirs)
    different = [(one, other) for one, other in zip(ours, theirs, strict=True)
                 if abs(one - other) > SLACK_MS]  # fmt: skip
    assert not different, (ours, theirs)
    assert said == also


def held_back(address):
    """What is said on a connection that is throttled: the answer at once, the next one later."""
    peer = Peer(address, "held")
    topic = peer.topic()
    quota(peer.link(), who(peer), producer_byte_rate=1000.0)
    link = client(peer, peer.tag)
    answer = link.ask(produce(topic, batch(b"x" * 11_000)), 9)
    link.send(m.ApiVersionsRequest(client_software_name="c", client_software_version="1"), 3)
    link.sock.settimeout(answer.throttle_time_ms / 1_000 / 2)
    with pytest.raises(TimeoutError):
        link.sock.recv(1)
    link.sock.settimeout(10)
    (size,) = struct.unpack(">i", exactly(link.sock, 4))
    assert exactly(link.sock, size)
    clear(peer.link())
    peer.close()
    return answer.throttle_time_ms


@pytest.mark.kafka
@pytest.mark.slow
def test_a_connection_is_held_back_after_its_answer(addresses):
    ours, theirs = map(held_back, addresses)
    assert abs(ours - theirs) < SLACK_MS


def producing_twice(address):
    """How long our own producer takes for a record behind what was some 400 ms too much, in s."""
    peer = Peer(address, "ours")
    topic = peer.topic()
    quota(peer.link(), who(peer), producer_byte_rate=100_000.0)
    options = {"bootstrap_servers": address, "client_id": peer.tag, "max_request_size": 2_000_000}
    with kcore.Producer(**options) as producer:
        producer.send(topic, b"x" * 1_040_000).get(30)
        began = time.monotonic()
        producer.send(topic, b"y").get(30)
        took = time.monotonic() - began
    clear(peer.link())
    peer.close()
    return took


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("which", [0, 1])
def test_our_producer_waits(addresses, which):
    assert producing_twice(addresses[which]) > 0.3


def turned_away(address):
    """How many of ten connections are closed, and after how long."""
    link = Link(address)
    quota(link, ip("127.0.0.1"), connection_creation_rate=1.0)
    asked = m.ApiVersionsRequest(client_software_name="c", client_software_version="1")
    closed = 0
    for _ in range(14):
        one = Link(address)
        try:
            one.ask(asked, 3)
        except ConnectionError:
            closed += 1
        one.close()
    clear(link)
    link.close()
    return closed


@pytest.mark.kafka
@pytest.mark.slow
def test_too_many_connections_are_closed_after_a_while(addresses):
    ours, theirs = map(turned_away, addresses)
    assert ours == theirs > 0
