"""What can be wrong with a pipeline's options, and with the data it finds."""

from __future__ import annotations

from typing import Final

from kcore.structs import TopicPartition

# Of what is said about an option. Its value may be a file that somebody meant to read.
_SHOWN_MAX: Final = 1_000


class OptionError(ValueError):
    """An option that is unknown, forbidden, malformed, or contradicts another one.

    option: its name as Spark has it.
    """

    def __init__(self, option: str, text: str) -> None:
        if len(text) > _SHOWN_MAX:
            text = f"{text[: _SHOWN_MAX // 2]} ... {text[-_SHOWN_MAX // 2 :]}"
        super().__init__(f"option {option!r}: {text}")
        self.option = option
        self.text = text

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.option, self.text)


class PlanError(ValueError):
    """Topics, partitions or offsets that cannot be read as asked; found while planning."""


class DataLossError(RuntimeError):
    """Records that were to be read are gone (retention, a topic deleted or made anew).

    Gaps that compaction and transactions leave are not loss, and not this error. With
    failOnDataLoss=false it is logged, and reading goes on at what is left.
    """

    def __init__(self, text: str, partition: TopicPartition, begin: int, end: int) -> None:
        super().__init__(f"{text}. To go on with what is left, set option failOnDataLoss to false")
        self.text = text
        self.partition = partition
        self.begin = begin
        self.end = end

    def __reduce__(self) -> tuple[type, tuple[str, TopicPartition, int, int]]:
        return type(self), (self.text, self.partition, self.begin, self.end)


class ReadTimeoutError(TimeoutError):
    """Records that should be there did not come in time."""
