"""The delegation tokens of a cluster: their ids, who may do what with them, until when.

What proves that somebody has one is a code that is made of its id and the key that all nodes have
(HMAC-SHA-512; Java: DelegationTokenManager). So it is kept nowhere, and a directory that is stolen
opens nothing; with another key all tokens are others. Times are wall ms.

Tokens that are over are swept away from time to time, by the broker's clock, as by a Kafka: until
then they are told of, and whoever logs in by one is shown out again.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kcore.broker.batches import RefusedError
from kcore.broker.delegation.config import DelegationTokenConfig
from kcore.structs import Rng
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode
from kcore.wire.mechanisms import SCRAM_SHA_256, SCRAM_SHA_512

if TYPE_CHECKING:
    from kcore.broker.sasl.credentials import Credential
    from kcore.broker.stores import ClusterStore

USER: Final = "User"
# What clients can make us keep is bounded: more tokens than any test has, and names in each.
TOKENS_MAX: Final = 10_000
RENEWERS_MAX: Final = 100
NAME_LENGTH_MAX: Final = 1_000
_ID_BITS: Final = 128
_SALT_BYTES: Final = 24
_ITERATIONS: Final = 4_096  # Kafka's least: what is hashed cannot be guessed
_HASH: Final = "sha512"


class Principal(NamedTuple):
    """Somebody, of a type: ("User", "alice")."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


class Token(NamedTuple):
    """One that was given. expires_ms: when it is over unless it is renewed, which it never is
    beyond ends_ms. What it is worth is not in it.
    """

    token_id: str
    owner: Principal
    requester: Principal
    renewers: tuple[Principal, ...]
    issued_ms: int
    expires_ms: int
    ends_ms: int

    def is_over(self, wall_ms: int) -> bool:
        """Whether it is good no more."""
        return self.expires_ms < wall_ms

    def is_of(self, somebody: Principal) -> bool:
        """Whether somebody may renew it, or let it expire."""
        return somebody == self.owner or somebody in self.renewers

    def concerns(self, somebody: Principal) -> bool:
        """Whether somebody may be told of it without being asked who he is."""
        return self.is_of(somebody) or somebody == self.requester


def principal_of(text: str) -> Principal:
    """Of what stands in a link: "User:alice"."""
    kind, _, name = text.partition(":")
    return Principal(kind, name)


class Tokens:
    """Those of a cluster. rng: ids and salts are drawn from it."""

    def __init__(self, config: DelegationTokenConfig, rng: Rng) -> None:
        self._config = config
        self._rng = rng
        self._tokens: dict[str, Token] = {}
        self._ids: dict[bytes, str] = {}  # by a hash of the code: looking it up tells nothing
        self._credentials: dict[tuple[str, str], Credential] = {}
        self._swept_ms: int | None = None  # nobody has looked yet
        self.store: ClusterStore | None = None

    @property
    def enabled(self) -> bool:
        """Whether there is a key to make tokens with."""
        return bool(self._config.secret_key)

    def code_of(self, token_id: str) -> bytes:
        """What whoever has the token knows; nobody else is to see it."""
        from hmac import digest  # noqa: PLC0415 - OpenSSL, not for who has no tokens

        return digest((self._config.secret_key or "").encode(), token_id.encode(), _HASH)

    def get(self, token_id: str, wall_ms: int) -> Token | None:
        """The token of an id, over or not; None if there is none."""
        self._sweep(wall_ms)
        return self._tokens.get(token_id)

    def all(self, wall_ms: int) -> list[Token]:
        """Those there are."""
        self._sweep(wall_ms)
        return list(self._tokens.values())

    def credential(self, token_id: str, mechanism: str) -> Credential:
        """What a SCRAM mechanism goes by for a token that there is."""
        from kcore.broker.sasl.scram import credential_of  # noqa: PLC0415 - as above

        found = self._credentials.get((token_id, mechanism))
        if found is None:
            salt = self._rng.getrandbits(8 * _SALT_BYTES).to_bytes(_SALT_BYTES, "big")
            code = binascii.b2a_base64(self.code_of(token_id), newline=False).decode()
            found = credential_of(mechanism, code, salt, _ITERATIONS)
            self._credentials[token_id, mechanism] = found
        return found

    # Changes -------------------------------------------------------------------------------------

    def create(
        self,
        owner: Principal,
        requester: Principal,
        renewers: tuple[Principal, ...],
        lifetime_ms: int,
        wall_ms: int,
    ) -> Token:
        """A new one. lifetime_ms: not positive: as long as brokers allow. RefusedError."""
        self._need_key()
        self._sweep(wall_ms)
        if any(one.kind != USER for one in renewers):
            raise RefusedError(ErrorCode.INVALID_PRINCIPAL_TYPE, "renewers are users")
        names = (owner, *renewers)
        if (
            len(self._tokens) >= TOKENS_MAX
            or len(renewers) > RENEWERS_MAX
            or any(max(map(len, one)) > NAME_LENGTH_MAX for one in names)
        ):
            raise RefusedError(ErrorCode.POLICY_VIOLATION, "too much for a broker of tests")
        longest_ms = self._config.max_lifetime_ms
        ends_ms = wall_ms + (min(longest_ms, lifetime_ms) if lifetime_ms > 0 else longest_ms)
        expires_ms = min(ends_ms, wall_ms + self._config.expiry_time_ms)
        token = Token(self._new_id(), owner, requester, renewers, wall_ms, expires_ms, ends_ms)
        self._keep(token)
        return token

    def renew(self, code: bytes, somebody: Principal, period_ms: int, wall_ms: int) -> int:
        """Until when it is good now. period_ms: not positive: as brokers are told. RefusedError."""
        token = self._found(code, wall_ms)
        if token.is_over(wall_ms):
            raise RefusedError(ErrorCode.DELEGATION_TOKEN_EXPIRED, "it is over")
        self._check(token, somebody)
        usual_ms = self._config.expiry_time_ms
        lasts_ms = min(usual_ms, period_ms) if period_ms > 0 else usual_ms
        return self._prolong(token, wall_ms, lasts_ms)

    def expire(self, code: bytes, somebody: Principal, period_ms: int, wall_ms: int) -> int:
        """Until when it is good now. period_ms: below 0: it goes at once. RefusedError."""
        token = self._found(code, wall_ms)
        self._check(token, somebody)
        if period_ms < 0:
            self._remove(token)
            return wall_ms
        if token.is_over(wall_ms):
            raise RefusedError(ErrorCode.DELEGATION_TOKEN_EXPIRED, "it is over")
        return self._prolong(token, wall_ms, period_ms)

    def load(self, kept: Mapping[str, Token]) -> None:
        """What a store has. Without a key nobody can use them, and they stay."""
        for token in kept.values():
            self._put(token)

    def _need_key(self) -> None:
        if not self.enabled:
            raise RefusedError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, "there is no key")

    def _found(self, code: bytes, wall_ms: int) -> Token:
        """The token that somebody shows to have. RefusedError."""
        self._need_key()
        self._sweep(wall_ms)
        token = self._tokens.get(self._ids.get(_hashed(code), ""))
        if token is None:
            raise RefusedError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, "there is no such token")
        return token

    def _check(self, token: Token, somebody: Principal) -> None:
        if not token.is_of(somebody):
            raise RefusedError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, "it is not his")

    def _prolong(self, token: Token, wall_ms: int, period_ms: int) -> int:
        token = token._replace(expires_ms=min(token.ends_ms, wall_ms + period_ms))
        self._keep(token)
        return token.expires_ms

    def _sweep(self, wall_ms: int) -> None:
        """As if somebody had looked at the end of each interval."""
        if self._swept_ms is None:
            self._swept_ms = wall_ms
        intervals = (wall_ms - self._swept_ms) // self._config.expiry_check_interval_ms
        if intervals > 0:
            self._swept_ms += intervals * self._config.expiry_check_interval_ms
            for token in [one for one in self._tokens.values() if one.is_over(self._swept_ms)]:
                self._remove(token)

    def _new_id(self) -> str:
        """A random UUID as Kafka writes them, which does not begin with a dash (Java: Uuid)."""
        while True:
            data = self._rng.getrandbits(_ID_BITS).to_bytes(_ID_BITS // 8, "big")
            text = binascii.b2a_base64(data, newline=False).decode().rstrip("=")
            token_id = text.replace("+", "-").replace("/", "_")
            if not token_id.startswith("-") and token_id not in self._tokens:
                return token_id

    def _keep(self, token: Token) -> None:
        self._put(token)
        if self.store is not None:
            self.store.token_changed(token.token_id, token)

    def _put(self, token: Token) -> None:
        self._tokens[token.token_id] = token
        if self.enabled:
            self._ids[_hashed(self.code_of(token.token_id))] = token.token_id

    def _remove(self, token: Token) -> None:
        del self._tokens[token.token_id]
        if self.enabled:
            del self._ids[_hashed(self.code_of(token.token_id))]
        for mechanism in (SCRAM_SHA_256, SCRAM_SHA_512):
            self._credentials.pop((token.token_id, mechanism), None)
        if self.store is not None:
            self.store.token_changed(token.token_id, None)


def _hashed(code: bytes) -> bytes:
    from hashlib import sha256  # noqa: PLC0415 - as above

    return sha256(code).digest()
