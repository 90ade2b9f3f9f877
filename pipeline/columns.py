"""The columns of Spark's Kafka source, and those of them that a query has use for.

Each column costs: most of what a row takes is PySpark's way from a worker into rows of the JVM, and
that is by column. There a string is a view of the bytes that came, where binary is a copy, so who
casts values to strings had better ask for strings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from kcore.pipeline.errors import PlanError

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructField, StructType

# Name -> the types it comes as, the first one unless asked for.
_TYPES: Final = {
    "key": ("binary", "string"),
    "value": ("binary", "string"),
    "topic": ("string",),
    "partition": ("int",),
    "offset": ("bigint",),
    "timestamp": ("timestamp",),
    "timestampType": ("int",),
    "headers": ("array<struct<key:string,value:binary>>",),
}


@dataclass(frozen=True, slots=True)
class Columns:
    """(name, type) of each, in order."""

    wanted: tuple[tuple[str, str], ...]
    # What the consumer makes of records, and that nothing is to be done about it.
    fetched: tuple[str, ...] = field(init=False)
    _as_they_come: bool = field(init=False)

    def __post_init__(self) -> None:
        names = tuple(name for name, _ in self.wanted)
        # Offsets always: they say where a range ends.
        fetched = tuple(name for name in _TYPES if name in names or name == "offset")
        as_they_come = names == fetched and not self._texts()
        object.__setattr__(self, "fetched", fetched)
        object.__setattr__(self, "_as_they_come", as_they_come)

    @classmethod
    def all(cls, *, headers: bool) -> Columns:
        """Those of Spark's own source, in its order."""
        names = [name for name in _TYPES if headers or name != "headers"]
        return cls(tuple((name, _TYPES[name][0]) for name in names))

    @classmethod
    def of(cls, schema: StructType) -> Columns:
        """What a schema asks for. PlanError: there is no such column, or not as that."""
        wanted: dict[str, str] = {}
        for one in schema.fields:
            if one.name in wanted:
                raise PlanError(f"column {one.name!r} is asked for twice")
            wanted[one.name] = _type_of(one)
        if not wanted:
            raise PlanError(
                f"the schema has no columns: name some of {', '.join(_TYPES)}, "
                "or leave .schema(...) out"
            )
        return cls(tuple(wanted.items()))

    @property
    def ddl(self) -> str:
        """As Spark writes a schema."""
        return ", ".join(f"{name} {kind}" for name, kind in self.wanted)

    def shape(self, batch: RecordBatch) -> RecordBatch:
        """What was fetched as it was asked for; bytes are not copied, nor looked at."""
        if self._as_they_come:
            return batch
        from pyarrow import record_batch, string  # noqa: PLC0415 - only in workers

        texts = self._texts()
        arrays = {
            name: batch.column(name).view(string()) if name in texts else batch.column(name)
            for name, _ in self.wanted
        }
        return record_batch(arrays)

    def _texts(self) -> set[str]:
        return {name for name, kind in self.wanted if kind == "string" != _TYPES[name][0]}


ALL_BUT_HEADERS: Final = Columns.all(headers=False)


def _type_of(one: StructField) -> str:
    known = _TYPES.get(one.name)
    if known is None:
        near = get_close_matches(one.name.lower(), [name.lower() for name in _TYPES], n=1)
        hint = [f"; did you mean {name!r}?" for name in _TYPES if name.lower() in near]
        raise PlanError(
            f"there is no column {one.name!r}: there are {', '.join(_TYPES)}{''.join(hint)}"
        )
    kind = one.dataType.simpleString()
    if kind not in known:
        raise PlanError(
            f"column {one.name!r} is asked for as {kind}, and comes as {' or '.join(known)}: "
            "cast it after load()"
        )
    if not one.nullable:
        raise PlanError(f"column {one.name!r} may be null: leave NOT NULL out of the schema")
    return kind
