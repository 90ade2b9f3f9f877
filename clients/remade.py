"""Topics that were deleted, and made anew under their names, while a consumer reads: where records
are that it took before is no place of theirs any more.
"""

from __future__ import annotations

from kcore.structs import TopicPartition


class Remade:
    """What a consumer has heard of that, by partition; bounded by the partitions there are.

    Each time has a number, so that everybody who has records in hand may ask for those since.
    """

    def __init__(self) -> None:
        self._count = 0
        self._last: dict[TopicPartition, int] = {}  # the number of the last time

    def hear(self, tp: TopicPartition) -> None:
        """The topic of this one was made anew."""
        self._count += 1
        self._last[tp] = self._count

    def since_now(self) -> Since:
        """Those that will be made anew from now on."""
        return Since(self._last, self._count)


class Since:
    """Partitions whose topics were made anew since a moment."""

    __slots__ = ("_count", "_last")

    def __init__(self, last: dict[TopicPartition, int], count: int) -> None:
        self._last = last
        self._count = count

    def __contains__(self, tp: object) -> bool:
        return self._last.get(tp, 0) > self._count  # type: ignore[call-overload, no-any-return]

    def take(self) -> set[TopicPartition]:
        """All of them; the moment is now, then."""
        last = self._last.copy()  # at once: the keeper's thread hears of others meanwhile
        found = {tp for tp, number in last.items() if number > self._count}
        self._count = max((last[tp] for tp in found), default=self._count)
        return found
