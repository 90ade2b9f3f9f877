"""`kcore configs`: what is set for topics, brokers, groups and client metrics; set anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kcore.cli.endings import DONE, Attempts
from kcore.cli.groups import open_admin
from kcore.cli.tables import Cell, Page, table
from kcore.errors import KafkaError

if TYPE_CHECKING:
    from kcore import Admin

_DEFAULT = "default"  # of all brokers: Kafka gives that no name
_HIDDEN = "(not told)"
_OF_ALL_BROKERS = "DYNAMIC_DEFAULT_BROKER_CONFIG"
_SET = "DYNAMIC"  # so begin the sources of what was set while brokers run


@dataclass(frozen=True)
class ConfigsOptions:
    """What was asked for. names: none: all of that kind. set, unset: what is to be altered of them.
    every: what nobody has set, too. as_json: the table is printed so. controllers: they are asked
    in place of brokers. settings: of Admin.
    """

    bootstrap: str | None
    kind: str
    names: tuple[str, ...] = ()
    set: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    every: bool = False
    as_json: bool = False
    controllers: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)


def show(options: ConfigsOptions) -> int:
    """Print a table of the entries, by what they are of. KafkaError, when all that is known is
    printed: of others it is not.
    """
    from kcore.admin import ConfigFilterType, ConfigResource  # noqa: PLC0415 (as in open_admin)

    page, attempts = Page(as_json=options.as_json), Attempts()
    with _open(options) as admin:
        names = _names(admin, options)
        try:
            resources = [ConfigResource(options.kind, name) for name in names]
            every = ConfigFilterType.ALL
            told = admin.describe_configs(resources, config_filter=every).get(options.kind, {})
        except KafkaError as error:
            told = {name: entries for (_kind, name), entries in error.done.items()}
            attempts.note(error)
    found = table(options.kind, "name", "value", "by")
    for name in names:
        for entry, row in sorted(told.get(name, {}).items()):
            source = row["config_source"]
            if options.every or _is_set(options.kind, source):
                by = source.lower().replace("_", " ")
                found.add_row(name or _DEFAULT, entry, _value(row), by)
    if told or not names:
        page.show(found)
    attempts.check()
    return DONE


def alter(options: ConfigsOptions) -> int:
    """Set and unset entries of all that are named; what was not named stays."""
    from kcore.admin import AlterConfigOp, ConfigResource  # noqa: PLC0415 (as in open_admin)

    changes: dict[str, tuple[object, str | None]] = {
        **{name: (AlterConfigOp.SET, value) for name, value in options.set.items()},
        **dict.fromkeys(options.unset, (AlterConfigOp.DELETE, None)),
    }
    with _open(options) as admin:
        admin.alter_configs(
            [ConfigResource(options.kind, name, changes) for name in _named(options)],
            raise_on_unknown=False,  # brokers say what they do not know, of groups not made yet too
            raise_errors=True,
        )
    return DONE


def _open(options: ConfigsOptions) -> Admin:
    if options.controllers is not None:
        return open_admin("configs", options.controllers, options.settings, of_controllers=True)
    return open_admin("configs", options.bootstrap or "", options.settings)


def _named(options: ConfigsOptions) -> list[str]:
    of_brokers = options.kind == "broker"
    names = ("" if of_brokers and name == _DEFAULT else name for name in options.names)
    return list(dict.fromkeys(names))


def _names(admin: Admin, options: ConfigsOptions) -> list[str]:
    if options.names:
        return _named(options)
    found = admin.list_config_resources([options.kind]).get(options.kind, [])
    return sorted(found, key=lambda name: (len(name), name) if options.kind == "broker" else name)


def _is_set(kind: str, source: str) -> bool:
    """Whether somebody has set it for this, and not for all brokers, whose topics have it, too."""
    return source.startswith(_SET) and (kind == "broker" or source != _OF_ALL_BROKERS)


def _value(row: Mapping[str, Any]) -> object:
    value = row["value"]
    if value is None:
        return Cell(_HIDDEN, None) if row["is_sensitive"] else None
    return str(value)
