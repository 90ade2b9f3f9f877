"""The features of the cluster (KIP-584): which are known here, and up to which level each is used.

A level is set by UpdateFeatures and holds for all nodes at once. At level 0 what a feature is about
is refused, and what was there before stays as it is, to go on when the level is raised again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, Final

from kcore.broker.config import BrokerConfig
from kcore.broker.refusals import refusal
from kcore.coordinator.transactions import TV_BUMPS
from kcore.tuples import NamedTuple
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message

TRANSACTIONS: Final = "transaction.version"
GROUPS: Final = "group.version"  # level 1: consumer groups of KIP-848
SHARES: Final = "share.version"  # level 1: share groups (KIP-932); 2: dead letters (KIP-1191)
STREAMS: Final = "streams.version"  # level 1: streams groups (KIP-1071)

# The first level of share groups that has rejected records written to a dead letter queue.
DEAD_LETTERS: Final = 2

# The first Kafka in which each is finished, and its highest level from then on. Kafka 3.9 served
# consumer groups without a feature being there for it.
_KNOWN: Final[Mapping[str, Mapping[tuple[int, int], int]]] = {
    GROUPS: {(4, 0): 1},
    SHARES: {(4, 2): 1, (4, 4): DEAD_LETTERS},
    STREAMS: {(4, 2): 1},
    TRANSACTIONS: {(4, 0): TV_BUMPS},
}

# What is refused at level 0.
NEEDED: Final[Mapping[ApiKey, str]] = {
    ApiKey.CONSUMER_GROUP_HEARTBEAT: GROUPS,
    ApiKey.CONSUMER_GROUP_DESCRIBE: GROUPS,
    ApiKey.SHARE_GROUP_HEARTBEAT: SHARES,
    ApiKey.SHARE_GROUP_DESCRIBE: SHARES,
    ApiKey.SHARE_FETCH: SHARES,
    ApiKey.SHARE_ACKNOWLEDGE: SHARES,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: SHARES,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: SHARES,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: SHARES,
    ApiKey.STREAMS_GROUP_HEARTBEAT: STREAMS,
    ApiKey.STREAMS_GROUP_DESCRIBE: STREAMS,
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: STREAMS,
}

# Answers that say so of each group, and those that say so in words; others by their code alone.
_OF_EACH: Final = frozenset(
    {
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.SHARE_GROUP_DESCRIBE,
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        ApiKey.STREAMS_GROUP_DESCRIBE,
    }
)
_TOLD: Final = frozenset(
    {
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
        ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
    }
)


class UpgradeType(IntEnum):
    """Java: FeatureUpdate.UpgradeType."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class Update(NamedTuple):
    """What a request wants of one feature. kind: an UpgradeType, if it is one."""

    feature: str
    level: int
    kind: int


def switched_off(request: Message, version: int) -> Message:
    """What a Kafka answers where the feature of a request is at level 0."""
    key = ApiKey(request.API_KEY)
    if key in _OF_EACH:
        return refusal(request, version, ErrorCode.UNSUPPORTED_VERSION)
    answer = API_TABLE[key].response()
    fields: Any = answer
    fields.error_code = ErrorCode.UNSUPPORTED_VERSION
    if key in _TOLD:
        fields.error_message = "The version of API is not supported."
    return answer


class Features:
    """Levels that are finalized. epoch: how often one was set; clients believe the highest."""

    def __init__(self, config: BrokerConfig) -> None:
        self.highest = {
            name: highest
            for name, levels in _KNOWN.items()
            for since, highest in levels.items()
            if config.release >= since
        }
        self.levels = dict(self.highest)
        if TRANSACTIONS in self.levels:
            self.levels[TRANSACTIONS] = config.transactions.transaction_version
        self.epoch = 0

    def is_off(self, feature: str) -> bool:
        """Whether nothing of it may be used now."""
        return self.levels.get(feature) == 0

    @property
    def has_dead_letters(self) -> bool:
        """Whether share groups write down what they give up."""
        return self.levels.get(SHARES, 0) >= DEAD_LETTERS

    def wrong(self, updates: Iterable[Update]) -> str | None:
        """Why none of these can be done (Java: FeatureControlManager); None: all of them can."""
        for update in updates:
            why = self._wrong(update)
            if why is not None:
                return (
                    "The update failed for all features since the following feature had an error: "
                    f"Invalid update version {update.level} for feature {update.feature}. {why}"
                )
        return None

    def _wrong(self, update: Update) -> str | None:
        name, level, kind = update
        if kind not in set(UpgradeType):
            return "The controller does not support the given upgrade type."
        if level < 0:
            return "A feature version cannot be less than 0."
        highest = self.highest.get(name)
        if highest is None:
            return f"Feature {name} is not known to this controller."
        if level > highest:
            return f"This controller only supports versions 0-{highest}."
        if level < self.levels[name] and kind == UpgradeType.UPGRADE:
            return "A lower version needs the upgrade type of a safe or of an unsafe downgrade."
        if level > self.levels[name] and kind != UpgradeType.UPGRADE:
            return "A higher version needs the upgrade type of an upgrade."
        return None

    def set(self, levels: Mapping[str, int], epoch: int) -> None:
        """Those are the levels now; of what this release does not know there is none."""
        self.levels.update({name: level for name, level in levels.items() if name in self.highest})
        self.epoch = epoch
