"""What the driver asks the cluster: which partitions there are, and where they begin and end."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from kcore import Consumer
from kcore.pipeline.errors import DataLossError, PlanError
from kcore.pipeline.offsets import EARLIEST, LATEST, Offsets, listed
from kcore.pipeline.options import At, Bound, SourceOptions
from kcore.structs import TopicPartition

log = logging.getLogger("kcore.pipeline")

# Between questions for a topic or a partition that is not there: a node that has just started, or
# that lags, may not know of it yet.
_DOUBT_S = (0.1, 0.2, 0.4, 0.8, 1.0)


def questions() -> Iterator[None]:
    """As often as what is not there is asked for, with pauses."""
    for pause_s in (0.0, *_DOUBT_S):
        time.sleep(pause_s)
        yield


class Cluster:
    """Asks with a consumer that reads nothing. Made when first asked; `close` when done.

    at_end: those of the partitions last resolved that begin at the end, whatever it is by then.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._consumers: dict[str | None, Consumer] = {}  # by isolation level; None: as given
        self.at_end: set[TopicPartition] = set()

    def _ask(self, isolation: str | None = None) -> Consumer:
        consumer = self._consumers.get(isolation)
        if consumer is None:
            client = dict(self._options.client)
            client.setdefault("client_id", "kcore-driver")
            if isolation is not None:
                client["isolation_level"] = isolation
            consumer = self._consumers[isolation] = Consumer(**client)
        return consumer

    def close(self) -> None:
        """Disconnect."""
        while self._consumers:
            self._consumers.popitem()[1].close()

    # Partitions ----------------------------------------------------------------------------------

    def partitions(self, known: Collection[TopicPartition] = ()) -> set[TopicPartition]:
        """Those that the options ask for, as they are now. PlanError: some do not exist.

        known: those that were there before; that one of theirs is gone is asked again, too.
        """
        options = self._options
        found: set[TopicPartition] = set()
        missing: set[str] = set()
        for _ in questions():
            topics = self._topics()
            numbers = self._ask().fetch_partitions(topics) if topics else {}
            found = {TopicPartition(name, number) for name in numbers for number in numbers[name]}
            wanted = topics | self._matching(tp.topic for tp in known)
            missing = wanted - numbers.keys()
            expected = options.partitions or [tp for tp in known if tp.topic in wanted]
            if not missing and found.issuperset(expected):
                break
        if missing and options.pattern is None:  # else it was deleted
            raise PlanError(
                f"there is no topic {', '.join(sorted(missing))}: create it, or leave it out"
            )
        if options.partitions:
            gone = set(options.partitions) - found
            if gone:
                raise PlanError(
                    f"option 'assign' names partitions that do not exist: {listed(gone)}"
                )
            return set(options.partitions)
        return found

    def _topics(self) -> set[str]:
        """Those that the options name, or that match their pattern now."""
        options = self._options
        if options.pattern is not None:
            return self._matching(self._ask().topics())
        return set(options.topics) or {tp.topic for tp in options.partitions}

    def _matching(self, topics: Iterable[str]) -> set[str]:
        """Those that the pattern asks for; none if there is no pattern."""
        if self._options.pattern is None:
            return set()
        pattern = re.compile(self._options.pattern)
        # Anywhere in the name, as Spark's own finds it.
        return {name for name in topics if pattern.search(name) is not None}

    # Offsets -------------------------------------------------------------------------------------

    def written(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """The offset behind the last record of each, be it committed or not."""
        return dict(self._ask("read_uncommitted").end_offsets(list(partitions)))

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """The first offset of each."""
        return dict(self._ask().beginning_offsets(list(partitions)))

    def latest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """The offset behind the last record of each (with read_committed: the last stable one)."""
        return dict(self._ask().end_offsets(list(partitions)))

    def resolve(self, bound: Bound, partitions: set[TopicPartition]) -> Offsets:
        """The offset that a bound means in each partition. PlanError: it means none."""
        self.at_end = set(partitions) if bound.at is At.LATEST else set()
        if bound.at is At.EARLIEST:
            return self.earliest(partitions)
        if bound.at is At.LATEST:
            return self.latest(partitions)
        if bound.at is At.TIME:
            return self._by_time(bound, dict.fromkeys(partitions, bound.time_ms))
        self._check_cover(bound, partitions)
        if bound.at is At.TIMES:
            return self._by_time(bound, bound.numbers)
        return self._by_offset(bound)

    def _check_cover(self, bound: Bound, partitions: set[TopicPartition]) -> None:
        unknown = bound.numbers.keys() - partitions
        if unknown:
            raise PlanError(
                f"option {bound.option!r} names partitions that are not read: {listed(unknown)}"
            )
        missing = partitions - bound.numbers.keys()
        if missing:
            hint = ""
            if bound.at is At.OFFSETS:
                hint = "; -1 stands for the latest, -2 for the earliest offset"
            raise PlanError(
                f"option {bound.option!r} has to name every partition; {listed(missing)} "
                f"{'is' if len(missing) == 1 else 'are'} missing{hint}"
            )

    def _by_offset(self, bound: Bound) -> Offsets:
        found = dict(bound.numbers)
        first = self.earliest(found)
        last = self.latest(found)
        for tp, offset in bound.numbers.items():
            if offset == EARLIEST:
                found[tp] = first[tp]
            elif offset == LATEST:
                found[tp] = last[tp]
                self.at_end.add(tp)
            else:
                found[tp] = self._within(bound, tp, first[tp], last[tp])
        return found

    def _within(self, bound: Bound, tp: TopicPartition, first: int, last: int) -> int:
        """An offset that the log has. What it has not is an error now, or moved to what it has."""
        offset = bound.numbers[tp]
        name = f"option {bound.option!r}: {tp.topic}-{tp.partition}"
        wrong: DataLossError | PlanError | None = None
        if offset < first and bound.option.startswith("starting"):
            gone = f"{name}: records {offset} to {first} are gone; the log begins at {first}"
            wrong = DataLossError(gone, tp, offset, first)
        elif offset > last and not self._options.is_committed:
            # Behind the last stable offset there may be records whose transaction is open.
            wrong = PlanError(f"{name}: {offset} is behind the end of the log, which is at {last}")
        elif offset < first and not self._options.fail_on_data_loss:
            wrong = PlanError(f"{name}: all before {offset} is gone; the log begins at {first}")
        if wrong is None:
            return offset
        if self._options.fail_on_data_loss:
            raise wrong
        said = wrong.text if isinstance(wrong, DataLossError) else wrong
        log.warning("%s; going on, as failOnDataLoss is false", said)
        return first if offset < first else last

    def _by_time(self, bound: Bound, times: Offsets) -> Offsets:
        consumer = self._ask()
        answers: dict[TopicPartition, Any] = dict(consumer.offsets_for_times(times))
        late = [tp for tp in times if answers.get(tp) is None]
        if late and bound.strict:
            raise PlanError(
                f"option {bound.option!r}: {listed(late)} has no record at or after the time "
                f"({times[min(late)]} ms); startingOffsetsByTimestampStrategy=latest begins at the "
                "end there"
            )
        ends = self.latest(late) if late else {}
        self.at_end.update(late)
        return {tp: ends[tp] if tp in ends else answers[tp].offset for tp in times}
