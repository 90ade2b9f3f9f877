"""Options of the authorizer; names and defaults are those of Kafka's StandardAuthorizer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

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


# What a node's file says of it, under Kafka's names: the field, and what its text means there.
TOLD: Final[Mapping[str, tuple[str, Callable[[str], object]]]] = {
    "super.users": (
        "super_users",
        lambda text: tuple(name for one in text.split(";") if (name := one.strip())),
    ),
    # Java reads it so: whatever is not "true" in some spelling is false.
    "allow.everyone.if.no.acl.found": (
        "allow_everyone_if_no_acl_found",
        lambda text: text.strip().lower() == "true",
    ),
}
