"""Delegation tokens (KIP-48, KIP-373): the same questions, by the same people, to a real Kafka with
an authorizer and to the embedded broker: the same answers, who may and who may not, who is let in.

What a Kafka 4.3.1 answered is kept in vectors/delegation_said.json (tests/support/said.py).
"""

import base64
import contextlib
import time
from pathlib import Path

import pytest
from certificates import missing
from raw_client import Link
from said import hold
from sasl_scenarios import Scram
from secure_kafka import SecureKafka

from kcore.broker.authorization.config import AuthorizerConfig
from kcore.embedded import EmbeddedBroker
from kcore.wire import messages as m

SAID = Path(__file__).with_name("vectors") / "delegation_said.json"

PEOPLE = ("alice", "bob", "carol", "root")
ROOT = "User:root"
HOUR_MS = 3_600_000
# Resources, operations, permissions: Java's numbers.
TOKEN, USER = 6, 7
DESCRIBE, CREATE_TOKENS, DESCRIBE_TOKENS = 8, 13, 14
DENY, ALLOW = 2, 3
NEAR_MS = 60_000  # within which two times are the same


class GuardedKafka(SecureKafka):
    """People of the SASL listener go by their own names; root may do everything."""

    def broker_settings(self, index):
        settings = super().broker_settings(index)
        users = " ".join(f'user_{name}="{name}"' for name in PEOPLE)
        plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        return settings | {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:ANONYMOUS;{ROOT}",
            "listener.name.sasl.plain.sasl.jaas.config": f"{plain} {users};",
            "delegation.token.expiry.time.ms": str(2 * HOUR_MS),
            "delegation.token.max.lifetime.ms": str(24 * HOUR_MS),
        }


class Side:
    """A listener where nobody says who he is, and one of SASL. Ids and codes of tokens go by the
    names they were given. ruler: who sees to entries (the embedded broker has one listener: where
    nobody says who he is, is another).
    """

    def __init__(self, plain, sasl, ruler=None):
        self.plain, self.sasl, self.ruler = plain, sasl, ruler
        self.said = []
        self.tokens = {}  # by name: (id, code)
        self._links = {}

    def link(self, who):
        """who: a name, None for who does not say it, or the name of a token."""
        if who not in self._links:
            self._links[who] = self.logged_in(who)
        return self._links[who]

    def logged_in(self, who):
        if who is None:
            return Link(self.plain)
        link = Link(self.sasl)
        if who in self.tokens:
            token_id, code = self.tokens[who]
            link.lifetime_ms = by_token(link, token_id, code)
            assert link.lifetime_ms is not None, who
            return link
        link.ask(m.SaslHandshakeRequest(mechanism="PLAIN"), 1)
        said = link.ask(m.SaslAuthenticateRequest(auth_bytes=f"\0{who}\0{who}".encode()), 2)
        assert not said.error_code, said
        return link

    def ask(self, who, message, version):
        answer = self.link(who).ask(message, version)
        self.said.append((who, type(message).__name__, version, self.plain_of(answer)))
        return answer

    def plain_of(self, answer):
        now_ms = time.time_ns() // 1_000_000
        ids = {token_id: name for name, (token_id, _) in self.tokens.items()}
        codes = {code: name for name, (_, code) in self.tokens.items()}

        def plain(one, field=""):
            if field == "throttle_time_ms":
                return "*"
            if field == "token_id":
                return ids.get(one, one and "unknown")
            if field == "hmac":
                return codes.get(bytes(one), one and "unknown")
            if isinstance(one, int) and one > 1_000_000_000_000:
                hours = round((one - now_ms) / HOUR_MS, 3)
                return f"in {hours:.1f} h" if abs(one - now_ms) > NEAR_MS else "now"
            if isinstance(one, list):
                return sorted((plain(part) for part in one), key=repr)
            if hasattr(one, "FIELDS"):
                return {row[0]: plain(getattr(one, row[0]), row[0]) for row in one.FIELDS}
            return one

        return plain(answer)

    def create(self, name, who, version=3, *, owner=None, renewers=(), lifetime_ms=-1):
        cls = m.CreateDelegationTokenRequest
        request = cls(
            renewers=[cls.CreatableRenewers(principal_type=kind, principal_name=one)
                      for kind, one in renewers],
            max_lifetime_ms=lifetime_ms,
        )  # fmt: skip
        if owner is not None:
            request.owner_principal_type, request.owner_principal_name = owner
        answer = self.link(who).ask(request, version)
        if not answer.error_code:
            self.tokens[name] = answer.token_id, bytes(answer.hmac)
            self.until(lambda: answer.token_id in self.known())
        self.said.append((who, f"create {name}", version, self.plain_of(answer)))
        return answer

    def renew(self, who, name, period_ms=-1, version=2):
        request = m.RenewDelegationTokenRequest(hmac=self.code(name), renew_period_ms=period_ms)
        answer = self.ask(who, request, version)
        self.until_good(name, answer)

    def expire(self, who, name, period_ms=-1, version=2):
        request = m.ExpireDelegationTokenRequest(
            hmac=self.code(name), expiry_time_period_ms=period_ms
        )
        answer = self.ask(who, request, version)
        if answer.error_code or period_ms >= 0:
            self.until_good(name, answer)
        else:
            self.until(lambda: self.tokens[name][0] not in self.known())

    def until_good(self, name, answer):
        """A Kafka's broker hears of it a moment later."""
        if not answer.error_code:
            token_id = self.tokens[name][0]
            self.until(
                lambda: self.known()[token_id].expiry_timestamp == answer.expiry_timestamp_ms
            )

    def describe(self, who, owners=None, version=3):
        cls = m.DescribeDelegationTokenRequest
        if owners is not None:
            owners = [cls.DescribeDelegationTokenOwner(principal_type=kind, principal_name=name)
                      for kind, name in owners]  # fmt: skip
        self.ask(who, cls(owners=owners), version)

    def code(self, name):
        return self.tokens[name][1] if name in self.tokens else name.encode()

    def known(self):
        answer = self.link("root").ask(m.DescribeDelegationTokenRequest(owners=None), 3)
        return {one.token_id: one for one in answer.tokens}

    def until(self, true):
        end = time.monotonic() + 20
        while not true():
            assert time.monotonic() < end
            time.sleep(0.02)

    def acl(self, principal, operation, kind, name, permission=ALLOW):
        entry = m.CreateAclsRequest.AclCreation(
            resource_type=kind, resource_name=self.tokens.get(name, (name,))[0],
            resource_pattern_type=3, principal=f"User:{principal}", host="*",
            operation=operation, permission_type=permission,
        )  # fmt: skip
        answer = self.link(self.ruler).ask(m.CreateAclsRequest(creations=[entry]), 3)
        assert not answer.results[0].error_code, answer
        cls = m.DescribeAclsRequest
        asked = cls(
            resource_type_filter=kind, resource_name_filter=entry.resource_name,
            pattern_type_filter=3, principal_filter=entry.principal, host_filter="*",
            operation=operation, permission_type=permission,
        )  # fmt: skip
        self.until(lambda: self.link(self.ruler).ask(asked, 3).resources)

    def lets_in(self, token_id, code, **more):
        """What becomes of who brings that: how long he may stay, or what he is told."""
        link = Link(self.sasl)
        try:
            lasts = by_token(link, token_id, code, **more)
            if lasts is None:
                return "refused"
            link.ask(m.MetadataRequest(topics=[]), 9)
            return f"for {round(lasts / HOUR_MS, 1)} h"
        except (ConnectionResetError, BrokenPipeError):
            return "let in, and shown out"
        finally:
            link.close()

    def enters(self, name, **more):
        token_id, code = self.tokens[name]
        said = self.lets_in(more.pop("token_id", token_id), more.pop("code", code), **more)
        self.said.append((name, more.get("more"), said))

    def close(self):
        for link in self._links.values():
            link.close()


def by_token(link, token_id, code, hash_name="sha256", more=",tokenauth=true", gs2="n,,"):
    """For how many ms (0: it does not end); None: refused."""
    mechanism = {"sha256": "SCRAM-SHA-256", "sha512": "SCRAM-SHA-512"}[hash_name]
    link.ask(m.SaslHandshakeRequest(mechanism=mechanism), 1)
    scram = Scram(hash_name, token_id, base64.b64encode(code).decode())
    scram.bare += more
    first = link.ask(m.SaslAuthenticateRequest(auth_bytes=f"{gs2}{scram.bare}".encode()), 2)
    if first.error_code:
        return None
    final = scram.final(bytes(first.auth_bytes))
    if gs2 != "n,,":
        binding = base64.b64encode(gs2.encode()).decode()
        final = scram.final(bytes(first.auth_bytes), binding=binding)
    last = link.ask(m.SaslAuthenticateRequest(auth_bytes=final), 2)
    return None if last.error_code else last.session_lifetime_ms


# What is asked ------------------------------------------------------------------------------------


def from_beginning_to_end(side):
    for version in (1, 2, 3):
        name = f"t{version}"
        side.create(name, "alice", version, renewers=[("User", "bob"), ("User", "bob")])
        side.describe("alice", version=version)
        side.describe("bob", version=version)
        side.describe("carol", version=version)
        side.renew("alice", name, version=min(version, 2))
        side.renew("bob", name, HOUR_MS, version=min(version, 2))
        side.renew("carol", name, version=min(version, 2))
        side.expire("carol", name, version=min(version, 2))
        side.expire("bob", name, 10 * HOUR_MS, version=min(version, 2))
        side.expire("alice", name, 1_000 * HOUR_MS, version=min(version, 2))
        side.expire("alice", name, -7, version=min(version, 2))
        for ask in (side.renew, side.expire):
            ask("alice", name)
            ask("carol", "nothing at all")
            ask("alice", "")
    side.describe("alice")


def for_how_long(side):
    for number, lifetime_ms in enumerate((0, -2, 1, 30 * HOUR_MS, 12 * HOUR_MS, (1 << 63) - 1)):
        side.create(f"t{number}", "alice", lifetime_ms=lifetime_ms)
    for number in (3, 4):
        for period_ms in (0, -1, HOUR_MS, 30 * HOUR_MS, (1 << 63) - 1):
            side.renew("alice", f"t{number}", period_ms)
    time.sleep(0.05)
    side.renew("alice", "t2")
    side.expire("alice", "t2", 5)
    side.renew("bob", "t2")
    side.expire("bob", "t2")
    side.describe("alice")
    side.enters("t2")
    side.expire("alice", "t2")
    for name in ("t3", "t4"):
        side.expire("alice", name, 0)
        time.sleep(0.05)
        side.renew("alice", name)
        side.enters(name)


def whose_they_are(side):
    side.create("own", "alice", owner=("User", "alice"))
    side.create("empty", "alice", owner=("User", ""))
    side.create("typed", "alice", owner=("Group", ""))
    side.create("others", "alice", owner=("User", "bob"))
    side.create("groups", "alice", owner=("Group", "alice"))
    side.create("renewed", "alice", renewers=[("Group", "bob")])
    side.create("both", "alice", owner=("User", "bob"), renewers=[("Group", "bob")])
    side.create("none", "alice", renewers=[("", "")])
    side.create("made", "root", owner=("User", "bob"), renewers=[("User", "carol")])
    for who in ("alice", "bob", "carol", "root"):
        for owners in (
            None,
            [],
            [("User", "bob")],
            [("User", "carol")],
            [("User", "root")],
            [("User", "alice"), ("User", "nobody")],
            [("Group", "bob")],
        ):
            side.describe(who, owners)
    side.renew("root", "made")  # who asked for it is not its owner
    side.expire("root", "made")
    side.renew("bob", "made")
    side.renew("carol", "made")
    side.enters("made")
    side.acl("alice", CREATE_TOKENS, USER, "User:bob")
    side.create("by leave", "alice", owner=("User", "bob"))
    side.describe("alice")
    side.acl("alice", CREATE_TOKENS, USER, "User:bob", DENY)
    side.create("by no leave", "alice", owner=("User", "bob"))
    side.acl("alice", CREATE_TOKENS, USER, "Group:x")
    side.create("of a group", "alice", owner=("Group", "x"))
    if "of a group" in side.tokens:
        side.enters("of a group")


def who_is_told(side):
    side.create("one", "alice")
    side.create("two", "alice")
    side.create("three", "bob")
    side.describe("carol")
    side.acl("carol", DESCRIBE, TOKEN, "one")
    side.describe("carol")
    side.describe("carol", [("User", "bob")])
    side.acl("carol", DESCRIBE_TOKENS, USER, "User:bob")
    side.describe("carol")
    side.acl("carol", DESCRIBE_TOKENS, USER, "User:alice")
    side.describe("carol")
    side.acl("carol", DESCRIBE, TOKEN, "one", DENY)
    side.describe("carol")
    side.renew("carol", "one")
    side.expire("carol", "one")


def who_may_not_ask(side):
    side.create("mine", "alice", renewers=[("User", "bob")])
    for who in (None, "mine"):
        side.describe(who)
        side.describe(who, [])
        side.renew(who, "mine")
        side.expire(who, "mine")
        side.renew(who, "nothing at all")
        for version in (1, 2, 3):
            side.create(f"{who} {version}", who, version)
        side.create(f"{who} others", who, owner=("User", "bob"), renewers=[("Group", "x")])


def who_is_let_in(side):
    side.create("a", "alice")
    side.create("b", "alice", lifetime_ms=HOUR_MS)
    for name in ("a", "b"):
        side.enters(name)
        side.enters(name, hash_name="sha512")
    other = side.tokens["b"]
    side.enters("a", code=other[1])
    side.enters("a", token_id=other[0])
    side.enters("a", token_id="alice")
    side.enters("a", token_id="nobody")
    side.enters("a", more="")
    side.enters("a", more=",tokenauth=TRUE")
    side.enters("a", more=",tokenauth=false")
    side.enters("a", more=",tokenauth=yes")
    # Of two extensions a Kafka forgets in which order they came, and finds the proof wrong, or not.
    side.enters("a", more=",Tokenauth=true")
    side.enters("a", gs2="n,a=alice,")
    side.enters("a", gs2=f"n,a={side.tokens['a'][0]},")
    side.renew("alice", "a", HOUR_MS // 2)
    side.enters("a")
    side.expire("alice", "a")
    side.enters("a")


@pytest.fixture(scope="module")
def kafka():
    with GuardedKafka() as kafka:
        yield kafka


def ours(**more):
    return EmbeddedBroker(
        security_protocol="SASL_PLAINTEXT",
        sasl_users={name: name for name in PEOPLE},
        authorizer=AuthorizerConfig(super_users=("User:ANONYMOUS", ROOT)),
        **more,
    )


KEPT = {
    "delegation_token_secret_key": "only for tests",
    "delegation_token_expiry_time_ms": 2 * HOUR_MS,
    "delegation_token_max_lifetime_ms": 24 * HOUR_MS,
}


def clean(side):
    """What the scenario before has left."""
    for token in side.known().values():
        by = m.ExpireDelegationTokenRequest(hmac=bytes(token.hmac), expiry_time_period_ms=-1)
        owner = token.principal_name if token.principal_type == "User" else None
        if owner in PEOPLE:
            side.link(owner).ask(by, 2)
    filters = m.DeleteAclsRequest.DeleteAclsFilter(
        resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1,
        principal_filter=None, host_filter=None, operation=1, permission_type=1,
    )  # fmt: skip
    side.link("root").ask(m.DeleteAclsRequest(filters=[filters]), 3)
    side.until(lambda: all(one.principal_type != "User" for one in side.known().values()))


SCENARIOS = [
    from_beginning_to_end,
    for_how_long,
    whose_they_are,
    who_is_told,
    who_may_not_ask,
    who_is_let_in,
]


@contextlib.contextmanager
def our_side(kept):
    with ours(**kept) as broker, EmbeddedBroker() as plain:
        with contextlib.closing(Side(plain.bootstrap, broker.bootstrap, "root")) as side:
            yield side
        assert not broker.faults


def their_side(kafka):
    return contextlib.closing(Side(kafka.bootstrap, kafka.address("SASL")))


class OtherKafka(GuardedKafka):
    """Told otherwise about tokens."""

    def __init__(self, **more):
        super().__init__()
        self._more = more

    def broker_settings(self, index):
        settings = super().broker_settings(index)
        for name, value in self._more.items():
            settings[name.replace("_", ".")] = str(value)
        return settings


def without_a_key(side):
    for who in ("alice", None):
        side.create("t", who)
        side.create("of a group", who, renewers=[("Group", "x")])
        side.create("others", who, owner=("User", "bob"))
        side.renew(who, "nothing at all")
        side.expire(who, "nothing at all")
        side.describe(who)
        side.describe(who, [])
    said = side.lets_in("nobody", b"code")
    side.said.append(said)


def swept_away(side):
    side.create("t", "alice", lifetime_ms=4_000)  # a Kafka's broker hears of it before it is gone
    side.until(lambda: not side.known())
    side.enters("t")
    side.renew("alice", "t")
    side.expire("alice", "t")


OTHERWISE = {
    without_a_key: {"delegation_token_secret_key": ""},
    swept_away: {"delegation_token_expiry_check_interval_ms": 300},
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_we_answer_what_a_kafka_answered(scenario):
    with our_side(KEPT) as side:
        scenario(side)
        hold(SAID, scenario.__name__, side.said)


@pytest.mark.parametrize(
    "scenario", [without_a_key, pytest.param(swept_away, marks=pytest.mark.slow)]
)
def test_we_answer_what_a_kafka_answered_that_is_told_otherwise(scenario):
    kept = {} if scenario is without_a_key else KEPT | OTHERWISE[scenario]
    with our_side(kept) as side:
        scenario(side)
        hold(SAID, scenario.__name__, side.said)


of_kafka = [
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]


class TestKafka:
    """It answers what it answered before."""

    pytestmark = of_kafka

    @pytest.mark.timeout(120)
    @pytest.mark.parametrize("scenario", SCENARIOS)
    def test_the_same_is_answered(self, kafka, scenario):
        with their_side(kafka) as side:
            scenario(side)
            hold(SAID, scenario.__name__, side.said, theirs=True)
            clean(side)

    @pytest.mark.parametrize("scenario", OTHERWISE)
    def test_the_same_where_it_is_told_otherwise(self, scenario):
        with OtherKafka(**OTHERWISE[scenario]) as kafka, their_side(kafka) as side:
            scenario(side)
            hold(SAID, scenario.__name__, side.said, theirs=True)
