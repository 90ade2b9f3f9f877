"""Who may do what: the rules of Kafka's StandardAuthorizer, entry by entry. The same rules are
held against a real one in tests/embedded/test_access_differential.py.
"""

import itertools

import pytest

from kcore.broker import AuthorizerConfig
from kcore.broker.authorization.acls import Acl, AclFilter, Operation, Pattern, Permission, Resource
from kcore.broker.authorization.authorizer import Authorizer
from kcore.broker.authorization.hosts import wrong_host
from kcore.errors import KafkaConfigurationError

ALICE, BOB, HOST = "User:alice", "User:bob", "10.0.0.1"
TOPIC, GROUP = Resource.TOPIC, Resource.GROUP
ALLOW, DENY = Permission.ALLOW, Permission.DENY
LITERAL, PREFIXED = Pattern.LITERAL, Pattern.PREFIXED
Op = Operation


def acl(
    operation=Op.READ, name="t", *, kind=TOPIC, pattern=LITERAL, who=ALICE, host="*", may=ALLOW
):
    return Acl(kind, name, pattern, who, host, operation, may)


def made(*acls, **options):
    authorizer = Authorizer(AuthorizerConfig(**options))
    authorizer.add(acls)
    return authorizer


def may(authorizer, operation=Op.READ, name="t", *, kind=TOPIC, who=ALICE, host=HOST):
    return authorizer.allows(who, host, operation, kind, name)


def test_without_entries_nobody_may_but_super_users():
    authorizer = made(super_users=(BOB,))
    assert not may(authorizer)
    assert may(authorizer, who=BOB)


def test_super_users_may_what_is_denied_to_them():
    assert may(made(acl(who="User:*", may=DENY), super_users=(ALICE,)))


def test_an_entry_is_about_its_principal_operation_type_and_name():
    authorizer = made(acl())
    assert may(authorizer)
    assert not may(authorizer, who=BOB)
    assert not may(authorizer, Op.WRITE)
    assert not may(authorizer, kind=GROUP)
    assert not may(authorizer, name="tt")
    assert not may(authorizer, name="T")


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        (acl(), {"t"}),
        (acl(name="*"), {"", "t", "tt", "u", "*"}),
        (acl(name="t", pattern=PREFIXED), {"t", "tt"}),
        (acl(name="*", pattern=PREFIXED), {"*"}),
        (acl(who="User:*"), {"t"}),
        (acl(who="Group:alice"), set()),
        (acl(host=HOST), {"t"}),
        (acl(host="10.0.0.2"), set()),
        (acl(Op.ALL), {"t"}),
    ],
)
def test_what_an_entry_covers(entry, names):
    authorizer = made(entry)
    assert {name for name in ("", "t", "tt", "u", "*") if may(authorizer, name=name)} == names


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_what_is_denied_is_denied_whatever_allows_it(order):
    entries = [acl(), acl(name="*", may=DENY, who="User:*"), acl(Op.ALL, name="t")]
    assert not may(made(*[entries[index] for index in order]))


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (Op.READ, Op.DESCRIBE), (Op.WRITE, Op.DESCRIBE), (Op.DELETE, Op.DESCRIBE),
        (Op.ALTER, Op.DESCRIBE), (Op.ALTER_CONFIGS, Op.DESCRIBE_CONFIGS),
    ],
)  # fmt: skip
def test_what_comes_with_an_operation_is_not_denied_with_it(given, asked):
    assert may(made(acl(given)), asked)
    assert not may(made(acl(asked)), given)
    assert may(made(acl(asked), acl(given, may=DENY)), asked)


@pytest.mark.parametrize(
    "other", sorted(set(Op) - {Op.READ, Op.WRITE, Op.DELETE, Op.ALTER, Op.ALL})
)
def test_other_operations_say_nothing_of_describing(other):
    assert may(made(acl(other)), Op.DESCRIBE) is (other is Op.DESCRIBE)


def test_everyone_may_where_no_entry_speaks_of_the_resource():
    open_one = {"allow_everyone_if_no_acl_found": True}
    assert may(made(**open_one))
    # An entry about anybody, or about anything that can be done to it, is one.
    for entry in (
        acl(who=BOB),
        acl(Op.WRITE),
        acl(who=BOB, name="t", pattern=PREFIXED),
        acl(host="x"),
    ):
        assert not may(made(entry, **open_one))
    assert may(made(acl(who=BOB, name="u"), acl(who=BOB, kind=GROUP), **open_one))


def test_entries_that_are_gone_count_no_more():
    authorizer = made(acl(), acl(may=DENY), acl(name="t", pattern=PREFIXED))
    assert not may(authorizer)
    authorizer.remove([acl(may=DENY), acl(Op.WRITE)])
    assert may(authorizer)
    authorizer.remove([acl(), acl(name="t", pattern=PREFIXED)])
    assert not may(authorizer)
    assert len(authorizer) == 0


def test_an_entry_that_is_there_is_there_once_and_told_once():
    authorizer, told = made(), []
    authorizer.changed = lambda added, removed: told.append((list(added), list(removed)))
    authorizer.add([acl(), acl()])
    authorizer.add([acl()])
    authorizer.remove([acl(), acl()])
    authorizer.remove([acl()])
    assert told == [([acl()], []), ([], [acl()])]


W = Op.WRITE


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], False),
        ([acl(W)], True),
        ([acl(Op.ALL)], True),
        ([acl(W, kind=GROUP)], False),
        ([acl(W, who=BOB)], False),
        ([acl(Op.READ)], False),
        ([acl(W), acl(W, may=DENY)], False),
        ([acl(W), acl(W, "u", may=DENY)], True),
        ([acl(W), acl(W, "*", may=DENY)], False),
        ([acl(W), acl(W, "t", pattern=PREFIXED, may=DENY)], False),
        ([acl(W), acl(W, "tt", pattern=PREFIXED, may=DENY)], True),
        ([acl(W, pattern=PREFIXED), acl(W, may=DENY)], True),
        ([acl(W, "tt", pattern=PREFIXED), acl(W, "t", pattern=PREFIXED, may=DENY)], False),
        ([acl(W, "*"), acl(W, "t", pattern=PREFIXED, may=DENY)], True),
        ([acl(W, "hard", pattern=PREFIXED)], True),
    ],
)
def test_whether_any_resource_of_a_type_may_be_written_to(entries, expected):
    assert made(*entries).allows_some(ALICE, HOST, W, TOPIC) is expected


def test_operations_are_bits():
    authorizer = made(acl(Op.READ), acl(Op.ALTER_CONFIGS))
    bits = authorizer.operations(ALICE, HOST, TOPIC, "t")
    expected = Op.READ, Op.DESCRIBE, Op.ALTER_CONFIGS, Op.DESCRIBE_CONFIGS
    assert bits == sum(1 << operation for operation in expected)
    assert made(super_users=(ALICE,)).operations(ALICE, HOST, TOPIC, "t") == 3_576


ENTRIES = [acl(), acl(name="*"), acl(name="t", pattern=PREFIXED), acl(name="tt"), acl(kind=GROUP)]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (AclFilter(), [0, 1, 2, 3, 4]),
        (AclFilter(TOPIC), [0, 1, 2, 3]),
        (AclFilter(TOPIC, "t"), [0, 2]),
        (AclFilter(TOPIC, "t", LITERAL), [0]),
        (AclFilter(TOPIC, "t", Pattern.MATCH), [0, 1, 2]),
        (AclFilter(TOPIC, "ttt", Pattern.MATCH), [1, 2]),
        (AclFilter(TOPIC, "*", Pattern.MATCH), [1]),
        (AclFilter(pattern_type=PREFIXED), [2]),
        (AclFilter(principal=BOB), []),
        (AclFilter(operation=Op.ALL), []),
    ],
)
def test_what_a_filter_finds(wanted, found):
    assert made(*ENTRIES).find(wanted) == [ENTRIES[index] for index in found]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"super_users": "User:admin"}, "several names"),
        ({"super_users": ("admin",)}, "no principal.*User:alice"),
        ({"super_users": (1,)}, "several names"),
        ({"principals": {"client": "alice"}}, "no principal"),
        ({"principals": ["client"]}, "no mapping"),
        ({"principals": {1: "User:alice"}}, "no mapping"),
        ({"allow_everyone_if_no_acl_found": "false"}, "True or False"),
    ],
)
def test_options_that_cannot_be_say_what_is_wrong(options, words):
    with pytest.raises(KafkaConfigurationError, match=words):
        AuthorizerConfig(**options)


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["11.0.0.0", "9.255.255.255", "::1", "x"]),
        ("10.1.2.3/24", ["10.1.2.0", "10.1.2.255"], ["10.1.3.0"]),
        ("10.1.2.3/32", ["10.1.2.3"], ["10.1.2.4"]),
        ("010.01.2.003/31", ["10.1.2.2", "10.1.2.3"], ["10.1.2.4"]),
        ("0.0.0.0/0", ["10.1.2.3", "::ffff:10.1.2.3"], ["2001:db8::1"]),
        ("2001:db8::/32", ["2001:db8::1", "2001:db8:ffff::%eth0"], ["2001:db9::", "10.1.2.3"]),
        ("[2001:db8::1%3]/+128", ["2001:db8::1"], ["2001:db8::2"]),
        ("::/0", ["2001:db8::1"], ["10.1.2.3", "::ffff:10.1.2.3"]),
        ("10.0.0.0/33", [], ["10.0.0.0"]),
    ],
)
def test_a_host_with_a_slash_is_a_range(pattern, inside, outside):
    authorizer = made(acl(host=pattern))
    for host in (*inside, *outside):
        assert may(authorizer, host=host) == (host in inside), host
    denied = made(acl(), acl(host=pattern, may=DENY))
    for host in (*inside, *outside):
        assert may(denied, host=host) == (host in outside), host
        assert denied.allows_some(ALICE, host, Op.READ, TOPIC) == (host in outside)


def test_it_was_none_before():
    authorizer = Authorizer(AuthorizerConfig(), ranges=False)
    authorizer.add([acl(host="10.0.0.0/8")])
    assert not may(authorizer)


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("", "Host pattern cannot be null or empty"),
        ("*", None), ("10.0.0.1", None), ("broker.example", None), ("10.0.0.0/8", None),
        *(
            (host, f"Invalid CIDR notation '{host}': {words}")
            for host, words in (
                ("10.0.0/8", "Could not parse [10.0.0/8]"),
                ("10.0.0.0/", "Could not parse [10.0.0.0/]"),
                ("10.0.0.0/8/8", "Could not parse [10.0.0.0/8/8]"),
                ("10.0.0.\u0661/8", "Could not parse [10.0.0.\u0661/8]"),
                ("10.0.0.256/33", "Value [256] not in range [0,255]"),
                ("10.0.0.0/33", "Value [33] not in range [0,32]"),
                ("::1/129", "Could not parse [::1/129] - prefix length must be between 0 and 128"),
                ("::1/x", "Could not parse [::1/x] - invalid prefix length"),
                ("::/2147483648", "Could not parse [::/2147483648] - invalid prefix length"),
                ("x::/\uff11", "Could not parse [x::]"),
                (":::/1", "Could not parse [:::]"),
                ("::1%a b/1", "Could not parse [::1%a b]"),
                ("::ffff:10.0.0.1/8", "Could not parse [::ffff:10.0.0.1] - not an IPv6 address"),
            )
        ),
    ],
)  # fmt: skip
def test_what_can_be_no_host(host, why):
    assert wrong_host(host) == why
