"""Small classes of named values, without making code at import.

`class Point(Value)` is what `@dataclass(frozen=True, slots=True)` would make of it: slots,
`__init__`, comparison, hash, repr, pickling, `__match_args__`; with `frozen=False` it is mutable
and has no hash. The decorator compiles every method anew for each class, which costs up to 1 ms
at import: together a third of a consumer's start. Here the methods are written once and go by the
names of the fields; making a value costs a microsecond more.

Fields are the annotated names that are not ClassVar, in order, a base's first; `field` says what a
default alone cannot. `__post_init__` runs if there is one. A class that brings its own `__slots__`
adds no fields. `dataclasses.fields`, `asdict` and `replace` take values: what those ask for is made
when they first ask.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.hints import TYPE_CHECKING, Any, NoReturn, dataclass_transform

if TYPE_CHECKING:
    import dataclasses

_MISSING: Any = object()
_assign = object.__setattr__


class _Field:
    """What is known of a field beside its name."""

    __slots__ = ("default", "factory", "shown")

    def __init__(self, default: Any, factory: Callable[[], Any] | None, *, shown: bool) -> None:
        self.default = default
        self.factory = factory
        self.shown = shown

    def get_default(self) -> Any:
        """The value of a field that is not given; _MISSING if it has to be."""
        return self.default if self.factory is None else self.factory()


def field(
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] | None = None,
    repr: bool = True,  # noqa: A002
) -> Any:
    """As in `dataclasses`. repr=False: not shown, as a password is not."""
    return _Field(default, default_factory, shown=repr)


class _DataclassFields:
    """`__dataclass_fields__`, made when first asked for."""

    def __init__(self) -> None:
        self._made: dict[ValueType, dict[str, dataclasses.Field[object]]] = {}

    def __get__(self, instance: object, owner: ValueType) -> dict[str, dataclasses.Field[object]]:
        if owner not in self._made:
            self._made[owner] = _dataclass_fields(owner)
        return self._made[owner]


def _dataclass_fields(owner: ValueType) -> dict[str, dataclasses.Field[object]]:
    import dataclasses  # noqa: PLC0415 - costs more than all that is here

    rows: list[tuple[str, Any, Any]] = []
    for name, known in owner.__value_fields__.items():
        default: dict[str, Any] = {}
        if known.factory is not None:
            default = {"default_factory": known.factory}
        elif known.default is not _MISSING:
            default = {"default": known.default}
        rows.append((name, object, dataclasses.field(repr=known.shown, kw_only=True, **default)))
    twin = dataclasses.make_dataclass(owner.__name__, rows)
    return {entry.name: entry for entry in dataclasses.fields(twin)}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class ValueType(type):
    """The type of all classes of values: it finds their fields and gives them slots."""

    __value_fields__: dict[str, _Field]
    __match_args__: tuple[str, ...]
    __post_init__: Callable[[Any], None] | None = None

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        frozen: bool = True,
        eq: bool = True,
    ) -> ValueType:
        """Make the class. eq=False: two are never equal, and each has a hash, whatever it holds."""
        fields: dict[str, _Field] = {}
        for base in bases:
            fields |= getattr(base, "__value_fields__", {})
        if "__slots__" not in namespace:
            own: dict[str, _Field] = {}
            for entry, kind in namespace.get("__annotations__", {}).items():
                if "ClassVar" not in str(kind):
                    known = namespace.pop(entry, _MISSING)
                    if not isinstance(known, _Field):
                        known = _Field(known, None, shown=True)
                    own[entry] = known
            namespace["__slots__"] = tuple(entry for entry in own if entry not in fields)
            fields |= own
        namespace["__value_fields__"] = fields
        namespace["__match_args__"] = tuple(fields)
        if not frozen:
            namespace |= {
                "__setattr__": object.__setattr__,
                "__delattr__": object.__delattr__,
                "__hash__": None,
            }
        if not eq:
            namespace |= {"__eq__": object.__eq__, "__hash__": object.__hash__}
        return super().__new__(cls, name, bases, namespace)


class Value(metaclass=ValueType):
    """See the module's text."""

    __dataclass_fields__ = _DataclassFields()

    def __init__(self, *args: Any, **given: Any) -> None:
        cls = type(self)
        names = cls.__match_args__
        if len(args) > len(names):
            raise TypeError(f"{cls.__name__}() takes {len(names)} values, {len(args)} were given")
        for name, value in zip(names, args, strict=False):
            _assign(self, name, value)
        if given or len(args) < len(names):
            self._fill(names[len(args) :], given)
        if cls.__post_init__ is not None:
            cls.__post_init__(self)

    def _fill(self, names: tuple[str, ...], given: dict[str, Any]) -> None:
        """Set the fields that no positional argument has set."""
        cls = type(self)
        known = cls.__value_fields__
        missing = []
        for name in names:
            value = given.pop(name, _MISSING)
            if value is _MISSING:
                value = known[name].get_default()
            if value is _MISSING:
                missing.append(name)
            _assign(self, name, value)
        if missing:
            raise TypeError(f"{cls.__name__}() needs {', '.join(missing)}")
        if given:
            raise TypeError(f"{cls.__name__}() got {', '.join(given)}, unknown or given twice")

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in type(self).__match_args__])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        known = type(self).__value_fields__
        pairs = [f"{name}={getattr(self, name)!r}" for name in known if known[name].shown]
        return f"{type(self).__qualname__}({', '.join(pairs)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values()

    def __setattr__(self, name: str, value: Any) -> None:
        _refuse(name)

    def __delattr__(self, name: str) -> None:
        _refuse(name)


def _refuse(name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - see _dataclass_fields

    raise FrozenInstanceError(f"cannot assign to field {name!r}")
