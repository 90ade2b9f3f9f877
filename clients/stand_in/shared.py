"""What both of the other clients have, and kcore needs no class for."""

from __future__ import annotations

from random import choice

from kcore.errors import DeserializationError
from kcore.produce.murmur import partition_of


class AssignorName:
    """A class that stands for an assignor, as an entry of partition_assignment_strategy."""

    name: str


def assignor(class_name: str, name: str) -> type[AssignorName]:
    """The class of an assignor."""
    return type(class_name, (AssignorName,), {"name": name, "__doc__": f"The assignor {name}."})


RangePartitionAssignor = assignor("RangePartitionAssignor", "range")
RoundRobinPartitionAssignor = assignor("RoundRobinPartitionAssignor", "roundrobin")
StickyPartitionAssignor = assignor("StickyPartitionAssignor", "sticky")
CooperativeStickyAssignor = assignor("CooperativeStickyAssignor", "cooperative-sticky")


def own_error(error: DeserializationError) -> BaseException:
    """What the deserializer raised, which is what comes out of other clients; with a note that says
    of which record.
    """
    cause = error.__cause__
    if cause is None:
        return error
    cause.add_note(str(error))
    return cause


class DefaultPartitioner:
    """By the hash of the key; without one, any partition that has a leader.

    Given to a producer that stands in, it is that producer's own way: keys go where it says, and
    what has no key stays with a partition until that has a batch.
    """

    def __call__(self, key: bytes | None, all_partitions: list[int], available: list[int]) -> int:
        """A partition; `all_partitions` in order."""
        if key is None:
            return choice(available or all_partitions)
        return all_partitions[partition_of(key, len(all_partitions))]
