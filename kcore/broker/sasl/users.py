"""Who there is: passwords, known to PLAIN, and SCRAM credentials, which clients alter (KIP-554).

A password that was given stands for credentials of every SCRAM mechanism; they are made when they
are first wanted, or kept elsewhere: a hash of 4,096 rounds is no work for a start. Passwords are
never told to `store`, credentials are, as a Kafka has them in its metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kcore.broker.sasl.credentials import Credential
from kcore.errors import KafkaConfigurationError
from kcore.structs import Rng
from kcore.wire.mechanisms import SCRAM_SHA_256, SCRAM_SHA_512

if TYPE_CHECKING:
    from kcore.broker.stores import ClusterStore

SCRAM: Final = (SCRAM_SHA_256, SCRAM_SHA_512)
# Bounds of Kafka's for what clients bring; the lower one is what passwords given here get.
ITERATIONS_MIN: Final = 4_096
ITERATIONS_MAX: Final = 16_384
SALT_BYTES: Final = 24
# More than any test has: what clients can make us keep is bounded.
USERS_MAX: Final = 10_000
NAME_LENGTH_MAX: Final = 1_000


def check_user(user: object, password: object) -> None:
    """Refuse a name or a password that cannot be sent: KafkaConfigurationError, without the
    password.
    """
    if not isinstance(user, str) or not user or "\0" in user or len(user) > NAME_LENGTH_MAX:
        raise KafkaConfigurationError(
            f"a user of the name {str(user)[:40]!r} cannot say so: names are texts of 1 to "
            f"{NAME_LENGTH_MAX} characters",
            option="sasl_users",
        )
    if not isinstance(password, str) or not password or "\0" in password:
        raise KafkaConfigurationError(
            f"the password of user {user!r} is empty, or no text that can be sent",
            option="sasl_users",
        )


class Users:
    """The users of a cluster. rng: salts are drawn from it."""

    def __init__(self, rng: Rng, passwords: Mapping[str, str]) -> None:
        self._rng = rng
        self._passwords = dict(passwords)
        # Per user and mechanism; None: of the password, not made yet.
        self._credentials: dict[str, dict[str, Credential | None]] = {
            user: dict.fromkeys(SCRAM) for user in passwords
        }
        self.store: ClusterStore | None = None

    def has_password(self, user: str, password: str) -> bool:
        """Whether that is the user's password."""
        from hmac import compare_digest  # noqa: PLC0415 - OpenSSL, not for who has no users

        known = self._passwords.get(user)
        return known is not None and compare_digest(known.encode(), password.encode())

    def credential(self, user: str, mechanism: str) -> Credential | None:
        """What is kept for a SCRAM mechanism; None if there is nothing."""
        found = self._credentials.get(user)
        if found is None or mechanism not in found:
            return None
        credential = found[mechanism]
        if credential is None:
            credential = found[mechanism] = self._made(user, mechanism)
        return credential

    def _made(self, user: str, mechanism: str) -> Credential:
        from kcore.broker.sasl.scram import credential_of  # noqa: PLC0415 - as above

        salt = self._rng.getrandbits(8 * SALT_BYTES).to_bytes(SALT_BYTES, "big")
        return credential_of(mechanism, self._passwords[user], salt, ITERATIONS_MIN)

    def iterations(self, user: str) -> dict[str, int]:
        """The SCRAM mechanisms of a user, with their counts; empty if there are none."""
        return {
            mechanism: ITERATIONS_MIN if credential is None else credential.iterations
            for mechanism, credential in self._credentials.get(user, {}).items()
        }

    def with_credentials(self) -> list[str]:
        """Users who have any."""
        return list(self._credentials)

    # Changes -------------------------------------------------------------------------------------

    def set_password(self, user: str, password: str) -> None:
        """A new user, or another password for all that goes by passwords."""
        self._passwords[user] = password
        self._credentials[user] = dict.fromkeys(SCRAM)
        if self.store is not None:
            for mechanism in SCRAM:
                self.store.credential_changed(user, mechanism, self.credential(user, mechanism))

    def remove(self, user: str) -> bool:
        """Whether there was such a user."""
        known = self._passwords.pop(user, None) is not None or user in self._credentials
        for mechanism in list(self._credentials.get(user, ())):
            self.remove_credential(user, mechanism)
        return known

    def set_credential(self, user: str, mechanism: str, credential: Credential) -> None:
        """What a SCRAM mechanism goes by from now on; PLAIN does not hear of it."""
        self._credentials.setdefault(user, {})[mechanism] = credential
        if self.store is not None:
            self.store.credential_changed(user, mechanism, credential)

    def remove_credential(self, user: str, mechanism: str) -> None:
        """A SCRAM mechanism does not know the user any more."""
        found = self._credentials[user]
        del found[mechanism]
        if not found:
            del self._credentials[user]
        if self.store is not None:
            self.store.credential_changed(user, mechanism, None)

    def load(self, kept: Mapping[tuple[str, str], Credential]) -> None:
        """What a store has; who was given a password goes by that."""
        for (user, mechanism), credential in kept.items():
            if user not in self._passwords:
                self._credentials.setdefault(user, {})[mechanism] = credential
