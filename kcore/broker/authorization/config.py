"""Options of the authorizer; names and defaults are those of Kafka's StandardAuthorizer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from kcore.errors import KafkaConfigurationError


@dataclass(frozen=True, slots=True)
class AuthorizerConfig:
    """Who may do everything, and who is who.

    super_users: principals whom no entry concerns ("User:admin"). allow_everyone_if_no_acl_found:
    whether everybody may do what he likes to a resource of which no entry speaks.
    principals: client_id -> principal, in place of an authentication: whoever has none, and says
    that he is this client, is taken for that user. For tests of access alone.
    """

    super_users: Collection[str] = ()
    allow_everyone_if_no_acl_found: bool = False
    principals: Mapping[str, str] = field(default_factory=dict)

    # Whose rules these are.
    class_name: ClassVar[str] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

    def __post_init__(self) -> None:
        """Refuse what can never work: KafkaConfigurationError."""
        if not isinstance(self.super_users, (tuple, list, frozenset, set)) or not all(
            isinstance(one, str) for one in self.super_users
        ):
            raise KafkaConfigurationError(
                f'super_users={self.super_users!r} are several names: ("User:admin",)'
            )
        if not isinstance(self.allow_everyone_if_no_acl_found, bool):
            raise KafkaConfigurationError(
                "allow_everyone_if_no_acl_found is True or False, not"
                f" {self.allow_everyone_if_no_acl_found!r}"
            )
        if not isinstance(self.principals, Mapping) or not all(
            isinstance(text, str) for pair in self.principals.items() for text in pair
        ):
            raise KafkaConfigurationError(
                f'principals={self.principals!r} is no mapping: {{"client id": "User:alice"}}'
            )
        for name in (*self.super_users, *self.principals.values()):
            check_principal(name)


def check_principal(name: str) -> None:
    """KafkaConfigurationError: it is not written as a principal."""
    kind, colon, rest = name.partition(":")
    if not (kind and colon and rest):
        raise KafkaConfigurationError(
            f'{name!r} is no principal: they are written with their type, "User:alice"'
        )
