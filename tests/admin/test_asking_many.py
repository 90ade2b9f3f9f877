"""Operations on many things: what is kept of each is found at once."""

from types import SimpleNamespace

from kcore.admin.asking import Asking
from kcore.errors import KafkaConnectionError


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
