"""Configurations of topics, brokers and groups: told, altered, reset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from kcore.admin.asking import Ask, Outcome, Reply, Route
from kcore.admin.core import Procedure
from kcore.admin.rows import row_of
from kcore.admin.values import (
    AlterConfigOp,
    ConfigFilterType,
    ConfigResource,
    ConfigResourceType,
    ConfigSourceType,
    ConfigType,
)
from kcore.errors import IllegalArgumentError
from kcore.wire.apis import ApiKey
from kcore.wire.message import Message
from kcore.wire.messages import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)

_OF_BROKERS: Final = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)
_DEFAULTS: Final = (
    ConfigSourceType.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfigSourceType.STATIC_BROKER_CONFIG,
    ConfigSourceType.DEFAULT_CONFIG,
)

_DOCUMENTED_SINCE: Final = 3  # DescribeConfigs with what an entry is for (KIP-569)

_Resource = tuple[ConfigResourceType, str]

# The default of all brokers.
_EVERY_BROKER: Final[_Resource] = (ConfigResourceType.BROKER, "")
Change = tuple[AlterConfigOp, str | None]


def _place(key: _Resource) -> int:
    return int(key[1])


def _name(key: _Resource) -> str:
    return f"{key[0].name.lower()} {key[1]!r}"


def _is_of_broker(key: _Resource) -> bool:
    """Whether only that broker knows; the default of all brokers has no name."""
    return key[0] in _OF_BROKERS and bool(key[1])


def _split(keys: Iterable[_Resource], **rest: Any) -> list[Ask]:
    """One question to the brokers named, one to any for all others."""
    keys = list(keys)
    own = tuple(key for key in keys if _is_of_broker(key))
    others = tuple(key for key in keys if not _is_of_broker(key))
    return [
        Ask(keys=own, route=Route.BROKER, place=_place, name=_name, **rest),
        Ask(keys=others, name=_name, **rest),
    ]


def _joined(outcomes: Sequence[Outcome]) -> Outcome:
    whole = Outcome(_name)
    for outcome in outcomes:
        whole.done |= outcome.done
        whole.failed |= outcome.failed
    return whole


# Telling ------------------------------------------------------------------------------------------


def describe_configs(
    resources: Mapping[_Resource, Sequence[str] | None],
    *,
    synonyms: bool,
    shown: ConfigFilterType,
    raise_errors: bool,
    documentation: bool = False,
) -> Procedure[dict[str, dict[str, dict[str, Any]]]]:
    """kafka-python's {type: {name: {entry: its row}}}; {} of what is not told. None: all.

    documentation: what Kafka says of an entry (2.6); before, None.
    """
    outcome = yield from _describe(
        resources, synonyms=synonyms, shown=shown, documentation=documentation
    )
    outcome.check(raise_errors=raise_errors)
    told: dict[str, dict[str, dict[str, Any]]] = {}
    for kind, name in resources:
        told.setdefault(kind.name.lower(), {})[name] = outcome.done.get((kind, name), {})
    return told


def _describe(
    resources: Mapping[_Resource, Sequence[str] | None],
    *,
    synonyms: bool,
    shown: ConfigFilterType,
    documentation: bool = False,
) -> Procedure[Outcome]:
    def build(keys: list[_Resource], version: int, _limit_ms: int) -> DescribeConfigsRequest:
        cls = DescribeConfigsRequest
        rows = []
        for kind, name in keys:
            entries = resources[kind, name]
            rows.append(
                cls.DescribeConfigsResource(
                    resource_type=kind,
                    resource_name=name,
                    configuration_keys=None if entries is None else list(entries),
                )
            )
        request = cls(resources=rows, include_synonyms=synonyms)
        request.include_documentation = documentation and version >= _DOCUMENTED_SINCE
        return request

    def read(body: Any, _version: int, _keys: list[_Resource]) -> Iterable[Reply]:
        for row in body.results:
            key = _key(row)
            entries = {entry.name: _entry(entry) for entry in row.configs}
            value = {name: one for name, one in entries.items() if _is_shown(key, one, shown)}
            yield Reply(key, row.error_code, value, row.error_message)

    outcomes = yield _split(
        resources,
        api=ApiKey.DESCRIBE_CONFIGS,
        what="describing the configuration of",
        build=build,
        read=read,
    )
    return _joined(outcomes)


def _key(row: Any) -> _Resource | None:
    if row.resource_type in set(ConfigResourceType):
        return ConfigResourceType(row.resource_type), row.resource_name
    return None


def _entry(entry: Any) -> dict[str, Any]:
    row = row_of(entry, "name")
    row["config_source"] = _source(entry.config_source)
    row["config_type"] = _type(entry.config_type)
    for synonym in row["synonyms"]:
        synonym["source"] = _source(synonym["source"])
    return row


def _source(number: int) -> str:
    known = number in set(ConfigSourceType)
    return (ConfigSourceType(number) if known else ConfigSourceType.UNKNOWN).name


def _type(number: int) -> str:
    return (ConfigType(number) if number in set(ConfigType) else ConfigType.UNKNOWN).name


def _is_shown(key: _Resource | None, entry: Mapping[str, Any], shown: ConfigFilterType) -> bool:
    source = ConfigSourceType[entry["config_source"]]
    by_default = source in _DEFAULTS and key != _EVERY_BROKER  # of which only what is set is told
    match shown:
        case ConfigFilterType.DYNAMIC:
            return not entry["read_only"]
        case ConfigFilterType.MODIFIED:
            return not by_default
        case ConfigFilterType.DEFAULT:
            return by_default
        case ConfigFilterType.STATIC:
            return source is ConfigSourceType.STATIC_BROKER_CONFIG
    return True


# Altering -----------------------------------------------------------------------------------------


def alter_configs(
    changes: Mapping[_Resource, Mapping[str, Change]],
    *,
    validate_only: bool,
    raise_on_unknown: bool,
    raise_errors: bool,
) -> Procedure[dict[str, dict[str, str]]]:
    """kafka-python's {type: {name: "OK" or the error as text}}. Entries that are not named stay.

    raise_on_unknown: IllegalArgumentError (a ValueError), before anything is changed, for entries
    that cannot be altered; of the default of all brokers only these know which those are.
    """
    if raise_on_unknown:
        yield from _check_known(changes)
    return (yield from _alter(changes, validate_only=validate_only, raise_errors=raise_errors))


def _check_known(changes: Mapping[_Resource, Iterable[str]]) -> Procedure[None]:
    wanted = [key for key in changes if key != _EVERY_BROKER]
    outcome = yield from _describe(
        dict.fromkeys(wanted), synonyms=False, shown=ConfigFilterType.DYNAMIC
    )
    found = outcome.all_done()
    for key in wanted:
        unknown = sorted(set(changes[key]) - found[key].keys())
        if unknown:
            raise IllegalArgumentError(
                f"{_name(key)} has no entry {', '.join(unknown)} that could be altered"
            )


def _alter(
    changes: Mapping[_Resource, Mapping[str, Change]], *, validate_only: bool, raise_errors: bool
) -> Procedure[dict[str, dict[str, str]]]:
    request = IncrementalAlterConfigsRequest

    def entries(key: _Resource) -> list[Any]:
        return [
            request.AlterableConfig(name=name, config_operation=op, value=value)
            for name, (op, value) in changes[key].items()
        ]

    outcomes = yield _alterations(changes, request, entries, validate_only=validate_only)
    outcome = _joined(outcomes)
    outcome.check(raise_errors=raise_errors)
    told: dict[str, dict[str, str]] = {}
    for kind, name in changes:
        error = outcome.failed.get((kind, name))
        told.setdefault(kind.name.lower(), {})[name] = "OK" if error is None else str(error)
    return told


def _alterations(
    keys: Iterable[_Resource],
    request: type[Any],
    entries: Callable[[_Resource], list[Any]],
    *,
    validate_only: bool,
) -> list[Ask]:
    """request: IncrementalAlterConfigs or AlterConfigs. entries: of a resource, for that."""

    def build(asked: list[_Resource], _version: int, _limit_ms: int) -> Message:
        rows = [
            request.AlterConfigsResource(
                resource_type=key[0], resource_name=key[1], configs=entries(key)
            )
            for key in asked
        ]
        built: Message = request(resources=rows, validate_only=validate_only)
        return built

    def read(body: Any, _version: int, _keys: list[_Resource]) -> Iterable[Reply]:
        for row in body.responses:
            yield Reply(_key(row), row.error_code, "OK", row.error_message)

    return _split(
        keys,
        api=ApiKey(request.API_KEY),
        what="altering the configuration of",
        build=build,
        read=read,
        changes=not validate_only,
    )


def reset_configs(
    resources: Mapping[_Resource, Sequence[str]],
    *,
    validate_only: bool,
    raise_on_unknown: bool,
    raise_errors: bool,
) -> Procedure[dict[str, dict[str, str]]]:
    """Entries become what they are by default; none named: all that were set."""
    if raise_on_unknown:
        yield from _check_known(resources)
    unnamed = {key: None for key, entries in resources.items() if not entries}
    outcome = yield from _describe(unnamed, synonyms=False, shown=ConfigFilterType.MODIFIED)
    found = outcome.all_done()
    changes: dict[_Resource, Mapping[str, Change]] = {
        key: dict.fromkeys(entries or found[key], (AlterConfigOp.DELETE, None))
        for key, entries in resources.items()
    }
    return (yield from _alter(changes, validate_only=validate_only, raise_errors=raise_errors))


def replace_configs(
    wanted: Mapping[_Resource, Mapping[str, str]], *, validate_only: bool
) -> Procedure[None]:
    """Entries become these, and all others that were set what they are by default: the old
    AlterConfigs, in which there is no way to leave the others alone. Raises what failed.
    """
    request = AlterConfigsRequest

    def entries(key: _Resource) -> list[Any]:
        return [
            request.AlterableConfig(name=name, value=value) for name, value in wanted[key].items()
        ]

    outcomes = yield _alterations(wanted, request, entries, validate_only=validate_only)
    _joined(outcomes).all_done()


def resource_key(resource: ConfigResource) -> _Resource:
    """What names a resource."""
    return resource.resource_type, resource.name
