"""Strangers, the same words to a real Kafka and to the embedded broker: the same answers, texts and
ends of connections. And SCRAM users, described and altered.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sasl_scenarios
from certificates import missing
from raw_client import Peer
from sasl_scenarios import PASSWORD, SCENARIOS, USER, listener_of, play
from secure_kafka import OTHER, SESSION_MS, SecureKafka

from kcore.embedded import EmbeddedBroker
from kcore.wire import messages as m

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

# What is meant to differ, and why.
MEANT = {
    "BEARER, Basic": "a Kafka trips over its own words and hangs up; here it is said what is wrong",
}
KINDS = {
    "SASL": {"sasl_users": {USER: PASSWORD, OTHER: PASSWORD}},
    "SHORT": {
        "sasl_users": {USER: PASSWORD, OTHER: PASSWORD},
        "sasl_enabled_mechanisms": "PLAIN,SCRAM-SHA-256",
        "connections_max_reauth_ms": SESSION_MS,
    },
    "BEARER": {"sasl_enabled_mechanisms": "OAUTHBEARER", "connections_max_reauth_ms": 3_600_000},
}


@pytest.fixture(scope="module")
def kafka():
    with SecureKafka() as kafka:
        yield kafka


@pytest.fixture(scope="module")
def brokers():
    found = {
        kind: EmbeddedBroker(security_protocol="SASL_PLAINTEXT", **options).start()
        for kind, options in KINDS.items()
    }
    yield found
    for broker in found.values():
        assert not broker.faults
        broker.stop()


def play_all(address):
    """All at once: most of it is waiting."""
    with ThreadPoolExecutor(24) as pool:
        played = pool.map(lambda one: play(address(listener_of(one)), one), SCENARIOS)
        return dict(zip(SCENARIOS, played, strict=True))


@pytest.mark.timeout(300)
def test_strangers_are_told_the_same(kafka, brokers):
    play_all(kafka.address)  # a JVM that has not seen them yet takes its time
    theirs = play_all(kafka.address)
    ours = play_all(lambda kind: brokers[kind].bootstrap)
    differences = {
        name: (theirs[name], ours[name]) for name in SCENARIOS if theirs[name] != ours[name]
    }
    assert differences.keys() == MEANT.keys(), differences


def test_listeners_without_sasl_say_so(kafka):
    with EmbeddedBroker() as broker:
        sasl_scenarios.SCENARIOS["plain port"] = [
            sasl_scenarios.handshake(), sasl_scenarios.step(b""), sasl_scenarios.metadata(),
        ]  # fmt: skip
        try:
            assert play(kafka.bootstrap, "plain port") == play(broker.bootstrap, "plain port")
        finally:
            del sasl_scenarios.SCENARIOS["plain port"]


def upsert(name="carol", mechanism=1, iterations=4_096):
    return m.AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"salt",
        salted_password=b"x" * 32,
    )


def delete(name="carol", mechanism=1):
    return m.AlterUserScramCredentialsRequest.ScramCredentialDeletion(
        name=name, mechanism=mechanism
    )


CHANGES = [
    ([], [upsert()]),
    ([], [upsert(mechanism=2, iterations=8_192), upsert("dave")]),
    ([], [upsert(iterations=4_095), upsert("dave", iterations=16_385)]),
    ([], [upsert(mechanism=3), upsert("", 1), upsert("eve")]),
    ([], [upsert("frank"), upsert("frank", 2), upsert("frank")]),
    ([delete("dave")], [upsert("dave")]),
    ([delete("dave"), delete("dave", 2)], []),
    ([delete("nobody"), delete("eve", 2), delete("eve", 9), delete("eve"), delete("")], []),
    ([delete("dave")], []),
    ([], []),
]
QUESTIONS = [["carol"], ["carol", "dave"], ["nobody", ""], ["carol", "dave", "carol"]]


def said_of_users(address):
    """Rows as they are, texts too, in no order."""
    peer, found = Peer(address, "users"), []

    def rows(answer):
        whole = answer.error_code if hasattr(answer, "error_code") else 0
        for row in answer.results:
            if hasattr(row, "credential_infos"):
                row.credential_infos.sort(key=repr)  # a Kafka's come as they like
        return whole, sorted(map(repr, answer.results))

    for deletions, upsertions in CHANGES:
        asked = m.AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
        found.append(rows(peer.link().ask(asked, 0)))
        for names in QUESTIONS:
            users = [m.DescribeUserScramCredentialsRequest.UserName(name=name) for name in names]
            asked = m.DescribeUserScramCredentialsRequest(users=users)
            found.append(rows(peer.link().ask(asked, 0)))
    peer.close()
    return found


def test_users_are_altered_and_described_alike(kafka):
    with EmbeddedBroker() as broker:
        ours = said_of_users(broker.bootstrap)
        for number, (one, other) in enumerate(
            zip(said_of_users(kafka.bootstrap), ours, strict=True)
        ):
            assert one == other, number
