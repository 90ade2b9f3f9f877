"""What members have: numbers of something, partitions of topics or tasks of subtopologies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

K = TypeVar("K", bytes, str)


class Numbered(Protocol):
    """Numbers of what somebody has, as the journal has them, and the epoch in which it got each."""

    partitions: list[int]
    assignment_epochs: list[int] | None


def grouped(pairs: Iterable[tuple[K, int]]) -> dict[K, list[int]]:
    """Topic id or subtopology -> its numbers, all in order."""
    found: dict[K, list[int]] = {}
    for of, number in sorted(pairs):
        found.setdefault(of, []).append(number)
    return found


def held_of(parts: Iterable[tuple[K, Numbered]], epoch: int) -> dict[tuple[K, int], int]:
    """What a member has, and since which epoch; where there is not one for each number (older
    Kafkas have none), that of the member.
    """
    held: dict[tuple[K, int], int] = {}
    for of, part in parts:
        epochs = part.assignment_epochs or ()
        if len(epochs) != len(part.partitions):
            epochs = [epoch] * len(part.partitions)
        held.update(zip(((of, number) for number in part.partitions), epochs, strict=True))
    return held
