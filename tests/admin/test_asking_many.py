"""Operations on many things: what is kept of each is found at once."""

from types import SimpleNamespace

import pytest
from scripted_admin import admin_world

from kcore.admin import OffsetSpec
from kcore.admin.asking import Asking
from kcore.admin.offsets import list_partition_offsets
from kcore.admin.topics import describe_topics, list_topics
from kcore.errors import KafkaConnectionError
from kcore.structs import TopicPartition


class Named(str):
    """A key that counts how often it is looked at."""

    __slots__ = ()
    times = 0

    def __eq__(self, other):
        type(self).times += 1
        return str(self) == other

    __hash__ = str.__hash__


def test_what_was_on_its_way_with_a_lost_connection_is_not_looked_for_one_by_one():
    keys = [Named(f"t{number}") for number in range(100)]
    late = [Named("not-sent")]
    put_off = []
    asking = SimpleNamespace(
        ask=SimpleNamespace(changes=True),
        _doubtful=set(),
        _put_off=lambda key, _error: put_off.append(str(key)),
        _wait=lambda _now_ms: None,
    )
    answer = SimpleNamespace(error=KafkaConnectionError("gone"), version=3)
    Named.times = 0
    Asking._lose(asking, answer, keys + late, keys, 0)
    assert Named.times <= 200
    assert put_off == [*map(str, keys), "not-sent"]
    assert {*map(str, asking._doubtful)} == {*map(str, keys)}


@pytest.mark.parametrize("count", [20, 200])
def test_an_operation_is_looked_at_when_something_comes_for_it(monkeypatch, count):
    """Whatever comes for any was looked at by all: with 500 at once that was most of the time."""
    _, _, client = admin_world()
    times = 0
    handle_tick = Asking.handle_tick

    def counted(asking, now_ms):
        nonlocal times
        times += 1
        handle_tick(asking, now_ms)

    monkeypatch.setattr(Asking, "handle_tick", counted)
    wanted = {TopicPartition("t", number): OffsetSpec.LATEST for number in range(3)}
    numbers = [client.begin(list_partition_offsets(wanted, 0)) for _ in range(count)]
    for number in numbers:
        assert {*client.result(number, 60_000)} == {*wanted}
    assert times < 60 * count


def test_what_can_ask_nobody_goes_on_when_another_finds_brokers():
    world, _, client = admin_world(nodes=2)
    client.run(list_topics())
    for node in (1, 2):
        world.kill_node(node)
    numbers = [client.begin(describe_topics(["t"])), client.begin(list_topics())]
    world.run(2_000)
    for node in (1, 2):
        world.revive_node(node)
    assert client.result(numbers[0], 60_000)[0]["name"] == "t"
    assert client.result(numbers[1], 60_000) == ["t"]
