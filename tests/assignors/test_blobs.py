"""Subscription and assignment blobs: vector A24, both directions, and what hostile members may
send.
"""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcore.assignors import MemberSubscription, blobs
from kcore.errors import ProtocolError, Truncated, Unexpected
from kcore.structs import TopicPartition

FULL = MemberSubscription(
    topics=("t1", "t2"),
    owned=(TopicPartition("t1", 0), TopicPartition("t1", 2), TopicPartition("t2", 1)),
    generation=7,
    rack="r",
    userdata=b"mine",
    instance_id="i",
)


def as_version(blob: bytes, version: int) -> bytes:
    return version.to_bytes(2, "big", signed=True) + blob[2:]


def test_a24_subscription_round_trip() -> None:
    assert blobs.decode_subscription(blobs.encode_subscription(FULL), "i") == FULL


def test_a24_bytes_on_the_wire() -> None:
    plain = MemberSubscription(topics=("t",), owned=(TopicPartition("t", 5),), generation=2)
    assert blobs.encode_subscription(plain) == bytes.fromhex(
        "0003"  # version
        "00000001 0001 74"  # topics
        "ffffffff"  # no userdata
        "00000001 0001 74 00000001 00000005"  # owned
        "00000002"  # generation
        "ffff".replace(" ", "")  # no rack
    )
    assert blobs.encode_assignment([TopicPartition("t", 5)]) == bytes.fromhex(
        "0003 00000001 0001 74 00000001 00000005 ffffffff".replace(" ", "")
    )


@pytest.mark.parametrize("version", [0, 1, 2, 3, 100])
def test_a24_read_as_another_version(version: int) -> None:
    blob = as_version(blobs.encode_subscription(FULL), version)
    if version == 100:
        blob += b"what version 100 adds"
    found = blobs.decode_subscription(blob)
    assert found.topics == FULL.topics
    assert found.userdata == FULL.userdata
    assert found.owned == (FULL.owned if version >= 1 else ())
    assert found.generation == (7 if version >= 2 else -1)
    assert found.rack == ("r" if version >= 3 else None)


def test_empty_rack_means_none() -> None:
    blob = blobs.encode_subscription(MemberSubscription(("t",)))[:-2] + b"\0\0"
    assert blobs.decode_subscription(blob).rack is None


def test_topics_and_owned_are_sorted_on_the_wire() -> None:
    messy = MemberSubscription(
        topics=("b", "a"),
        owned=(TopicPartition("b", 2), TopicPartition("a", 1), TopicPartition("b", 0)),
    )
    found = blobs.decode_subscription(blobs.encode_subscription(messy))
    assert found.topics == ("a", "b")
    assert found.owned == (TopicPartition("a", 1), TopicPartition("b", 0), TopicPartition("b", 2))


@pytest.mark.parametrize("version", [0, 1, 2, 3, 100])
def test_a24_assignment_versions(version: int) -> None:
    wanted = [TopicPartition("a", 0), TopicPartition("a", 3), TopicPartition("b", 1)]
    blob = as_version(blobs.encode_assignment(wanted, b"u"), version) + b"later"
    assert blobs.decode_assignment(blob) == (wanted, b"u")


@pytest.mark.parametrize("decode", [blobs.decode_subscription, blobs.decode_assignment])
@pytest.mark.parametrize("data", [b"", b"\0"])
def test_too_short_for_a_version(decode, data: bytes) -> None:
    with pytest.raises(Truncated):
        decode(data)


@pytest.mark.parametrize("decode", [blobs.decode_subscription, blobs.decode_assignment])
def test_negative_version(decode) -> None:
    with pytest.raises(Unexpected):
        decode(b"\xff\xff" + bytes(20))


def test_every_prefix_is_refused() -> None:
    subscription = blobs.encode_subscription(FULL)
    whole = [len(prefix) for prefix in ends_of_versions(subscription)]
    for blob, decode, passed in (
        (subscription, blobs.decode_subscription, whole),
        (blobs.encode_assignment(FULL.owned, b"u"), blobs.decode_assignment, []),
    ):
        for size in range(len(blob)):
            if size not in passed:
                with pytest.raises(ProtocolError):
                    decode(blob[:size])


def ends_of_versions(subscription: bytes) -> list[bytes]:
    """A subscription's beginnings that are whole ones of the versions before it."""
    rack, generation = len("\0\1r"), 4
    owned = len(b"".join([b"\0\0\0\2", b"\0\2t1", b"\0\2t2"])) + (1 + 2) * 4 + (1 + 1) * 4
    sizes = [rack, rack + generation, rack + generation + owned]
    return [subscription[:-size] for size in sizes]


@pytest.mark.parametrize("claimed", [1, 2, 3, 4])
@pytest.mark.parametrize("written", [0, 1, 2])
def test_who_says_a_later_version_than_it_writes_is_read_as_it_writes(claimed, written) -> None:
    """segmentio's kafka-go has always said 1 and written 0: a leader that could not read it would
    hold up the whole group for good.
    """
    if claimed > written:
        blob = ends_of_versions(blobs.encode_subscription(FULL))[2 - written]
        found = blobs.decode_subscription(as_version(blob, claimed))
        assert found == blobs.decode_subscription(as_version(blob, written))
        assert found.topics == FULL.topics
        assert found.owned == (FULL.owned if written else ())


def test_kafka_gos_subscription() -> None:
    blob = bytes.fromhex("0001 00000001 0001 74 00000000".replace(" ", ""))
    assert blobs.decode_subscription(blob) == MemberSubscription(topics=("t",), userdata=b"")


@pytest.mark.parametrize(
    "body",
    [
        "00000001 0001 61 00000001 ffffffff ffffffff",  # partition -1
        "00000001 0001 61 00000002 00000001 00000001 ffffffff",  # twice in one entry
        "00000002 0001 61 00000001 00000001 0001 61 00000001 00000001 ffffffff",  # in two entries
        "00000001 0000 00000001 00000001 ffffffff",  # a topic without a name
        "7fffffff 0001 61",  # more topics than there are bytes
        "00000001 0001 61 7fffffff 00000001",
    ],
)
def test_assignments_that_cannot_be_meant(body: str) -> None:
    with pytest.raises(ProtocolError):
        blobs.decode_assignment(bytes.fromhex("0001" + body.replace(" ", "")))


@given(st.binary(max_size=200))
def test_any_bytes_give_a_value_or_a_protocol_error(data: bytes) -> None:
    for decode in (blobs.decode_subscription, blobs.decode_assignment):
        with contextlib.suppress(ProtocolError):
            decode(data)
