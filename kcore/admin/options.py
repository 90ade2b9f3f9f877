"""All the names of options an admin client knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kcore.limits import MAX_TIMEOUT_MS
from kcore.settings import java, names
from kcore.settings.parsers import Parser, integer, optional, servers

PARSERS: Final[Mapping[str, Parser]] = {
    **names.PARSERS,
    "bootstrap_controllers": optional(servers),
    "default_api_timeout_ms": integer(1, MAX_TIMEOUT_MS),
}
WITHOUT_EFFECT: Final[Mapping[str, object]] = {
    **names.WITHOUT_EFFECT,
    "metric_group_prefix": "admin",
    # What is tried again is tried until the call's timeout.
    "retries": 2_147_483_647,
}
TABLE: Final = names.Table(PARSERS, names.LATER, WITHOUT_EFFECT, java.COMMON)
