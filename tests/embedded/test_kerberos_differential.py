"""Tickets of Kerberos, good ones and bad ones, to a real Kafka and to the embedded broker: the same
answers, texts and ends of connections.
"""

import pytest
import sasl_scenarios
from kdc import missing
from kerberos_kafka import HOST, OTHER, SESSION_MS, USER, KerberosKafka
from sasl_scenarios import Sent, bare, handshake, play, step, versions

from kcore.broker.authorization.config import AuthorizerConfig
from kcore.embedded import EmbeddedBroker
from kcore.wire import messages as m

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]


def group():
    """What only USER may see."""
    return sasl_scenarios.ask(m.DescribeGroupsRequest(groups=["g"]), 5)


def with_more(data):
    """A last step without a header, which nothing is said to, and a question behind it."""
    asked = group()
    return Sent(bare(data).data + asked.data, asked.answer, asked.version)


# What is meant to differ, and why.
TRIPS = "a Kafka trips over its own words and hangs up; here it is said what is wrong"
MEANT = {f"the choice {choice!r}": TRIPS for choice in (b"", b"\1", b"\1\0\0")}


class Client:
    """One exchange of the client's side, by hand: what it says can be spoilt."""

    def __init__(self, kdc, who=USER, *, mutual=True, service="kafka"):
        import gssapi  # noqa: PLC0415 - an extra

        keytab = kdc.keytab(who)
        store = {"client_keytab": f"FILE:{keytab}", "ccache": f"MEMORY:differential {keytab}"}
        flags = gssapi.RequirementFlag.integrity
        if mutual:
            flags |= gssapi.RequirementFlag.mutual_authentication
        self.context = gssapi.SecurityContext(
            name=gssapi.Name(f"{service}@{HOST}", gssapi.NameType.hostbased_service),
            creds=gssapi.Credentials(usage="initiate", store=store),
            flags=flags,
            mech=gssapi.MechType.kerberos,
            usage="initiate",
        )
        self.offers = []

    def first(self, wrap=step):
        return wrap(self.context.step())

    def reply(self, wrap=step, instead=None):
        def make(challenge):
            token = self.context.step(challenge) or b""
            return wrap(token if instead is None else instead)

        return make

    def choose(self, choice=b"\1\0\0\0", wrap=step, *, wrapped=True):
        def make(challenge):
            self.offers.append(self.context.unwrap(challenge).message)
            return wrap(self.context.wrap(choice, False).message if wrapped else choice)

        return make

    def all(self, wrap=step):
        return [self.first(wrap), self.reply(wrap), self.choose(wrap=wrap)]


AGREED = handshake("GSSAPI")
SCENARIOS = {
    "whole": lambda c, _: [versions(), AGREED, *c().all(), group()],
    "bare": lambda _, one: [
        handshake("GSSAPI", 0), one.first(bare), one.reply(bare), one.choose(wrap=with_more),
    ],
    "who may do nothing": lambda c, _: [AGREED, *c(OTHER).all(), group()],
    "nothing first": lambda *_: [AGREED, step(b"")],
    "nonsense first": lambda *_: [AGREED, step(b"nonsense")],
    "nonsense of GSSAPI's first": lambda *_: [AGREED, step(b"\x60\x03\x06\x01\x2a")],
    "SPNEGO first": lambda *_: [AGREED, step(bytes.fromhex("60060604 2b060105"))],
    "nothing for the broker": lambda c, _: [AGREED, c(service="nobody").first()],
    "the beginning twice": lambda _, one: [AGREED, one.first(), one.reply(instead=b"x")],
    "no mutual authentication": lambda _, one: [
        AGREED, one.first(), one.choose(), group(),
    ],
    "a choice that is not wrapped": lambda _, one: [
        AGREED, one.first(), one.reply(), one.choose(wrapped=False),
    ],
    **{
        f"the choice {choice!r}": lambda _, one, choice=choice: [
            AGREED, one.first(), one.reply(), one.choose(choice), group(),
        ]
        for choice in (
            b"", b"\1", b"\1\0\0", b"\0\0\0\0", b"\2\0\0\0", b"\4\0\0\0", b"\7\0\0\0",
            b"\1\xff\xff\xff", b"\1\0\0\0bob", b"\1\0\0\0alice@KCORE.TEST",
            b"\1\0\0\0\xff\xff", b"\xff\0\0\0",
        )
    },
    "a step when known": lambda c, _: [AGREED, *c().all(), step(b""), group()],
    "another mechanism": lambda *_: [handshake("PLAIN")],
    "SHORT, renewed": lambda c, _: [AGREED, *c().all(), AGREED, *c().all(), group()],
    "SHORT, renewed by another": lambda c, _: [
        AGREED, *c().all(), AGREED, *c(OTHER).all(),
    ],
    "SHORT, nonsense": lambda c, _: [AGREED, *c().all(), AGREED, step(b"nonsense")],
    "SHORT, another mechanism": lambda c, _: [AGREED, *c().all(), handshake("PLAIN")],
    "SHORT, over": lambda c, _: [AGREED, *c().all(), SESSION_MS / 1000 + 0.3, group()],
}  # fmt: skip


@pytest.fixture(scope="module")
def kafka():
    with KerberosKafka() as kafka, pytest.MonkeyPatch.context() as patch:
        for name, value in kafka.kdc.environment.items():
            patch.setenv(name, value)
        kafka.kdc.add(f"nobody/{HOST}")
        kafka.create_topic("t")
        reset = ("--reset-offsets", "--to-earliest", "--execute")
        kafka.tool("kafka-consumer-groups", "--group", "g", "--topic", "t", *reset)
        yield kafka


@pytest.fixture(scope="module")
def brokers(kafka):
    options = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_enabled_mechanisms": "GSSAPI",
        "sasl_kerberos_keytab": str(kafka.kdc.keytab(f"kafka/{HOST}")),
        "authorizer": AuthorizerConfig(super_users=[f"User:{USER}"]),
    }
    found = {
        "KERBEROS": EmbeddedBroker(**options).start(),
        "SHORT": EmbeddedBroker(**options, connections_max_reauth_ms=SESSION_MS).start(),
    }
    yield found
    for broker in found.values():
        assert not broker.faults
        broker.stop()


def played(kafka, address, name):
    """What came of it, without what is another each time: tokens, ids, addresses, ports."""
    clients = []

    def client(*given, **more):
        clients.append(Client(kafka.kdc, *given, **more))
        return clients[-1]

    one = client(mutual=name != "no mutual authentication")
    sasl_scenarios.SCENARIOS[name] = SCENARIOS[name](client, one)
    try:
        said, ended = play(address, name)
    finally:
        del sasl_scenarios.SCENARIOS[name]
    return [plain(one) for one in said], ended, [offer for one in clients for offer in one.offers]


def plain(said):
    return tuple(bool(part) if isinstance(part, bytes) else part for part in said)


@pytest.mark.parametrize("name", SCENARIOS)
def test_strangers_with_tickets_are_told_the_same(kafka, brokers, name):
    listener = "SHORT" if name.startswith("SHORT") else "KERBEROS"
    theirs = played(kafka, kafka.address(listener), name)
    ours = played(kafka, brokers[listener].bootstrap, name)
    assert (ours == theirs) is (name not in MEANT), (ours, theirs)
