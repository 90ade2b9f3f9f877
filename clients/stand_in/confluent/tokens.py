"""oauth_cb: who gives tokens for SASL/OAUTHBEARER, asked again when most of a token's life is over.

That is done by a thread of its own, as librdkafka does it, so that a connection which is made or
has to authenticate anew finds one that is good.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any, Final
from weakref import ref

from kcore.clients.log import Log
from kcore.clients.stand_in.confluent.errors import failure
from kcore.tuples import NamedTuple

log = Log("kcore.clients")

_USED: Final = 0.8  # of a token's life, then it is renewed
_AGAIN_S: Final = 10.0  # after one that could not be
_LOOK_S: Final = 3_600.0  # the clock on the wall may be set


class _Token(NamedTuple):
    """What oauth_cb has given; expires_at: s since 1970."""

    value: str
    extensions: dict[str, str]
    expires_at: float


class TokenProvider:
    """oauth_cb as ours asks for tokens; the first is there when a client is made.

    failed: what hears of one that could not be renewed. KafkaException: it gives none.
    """

    def __init__(
        self, call: Callable[[str], Any], config: str, failed: Callable[[str], object] | None
    ) -> None:
        self._call = call
        self._config = config
        self._failed = failed
        self._asking = Lock()
        self._renew_at = 0.0
        try:
            self._last = self._ask()
        except Exception as error:
            raise failure(
                "SASL_AUTHENTICATION_FAILED", f"oauth_cb gave no token: {error}"
            ) from error
        self._given = self._last
        over = self._over = Event()
        held = ref(self, lambda _: over.set())
        Thread(target=_keep_new, args=(held, over), name="kcore-oauth", daemon=True).start()

    def _ask(self) -> _Token:
        """What oauth_cb gives: (token, expiry[, principal[, extensions]]), the expiry in s since
        1970. TypeError: not that. ValueError: its life is over.
        """
        now = time.time()
        found = self._call(self._config)
        if not isinstance(found, tuple) or len(found) < 2 or not isinstance(found[0], str):
            raise TypeError(
                "expected oauth_cb to return (token_str, expiry_time[, principal, extensions]), "
                f"not {type(found).__name__}"
            )
        expires_at = float(found[1])
        if not expires_at > now:  # no number, as well
            raise ValueError(f"it expires at {expires_at}, and now it is {now:.3f}")
        self._renew_at = now + (expires_at - now) * _USED
        return _Token(found[0], dict(found[3]) if len(found) > 3 and found[3] else {}, expires_at)

    def token(self) -> str:
        """The last one; if its life is over, what oauth_cb gives now, and whatever it raises."""
        last = self._last
        if time.time() >= last.expires_at:
            with self._asking:
                if self._last is last:
                    self._last = self._ask()
                last = self._last
        self._given = last
        return last.value

    def extensions(self) -> dict[str, str]:
        """What goes along with the token given last."""
        return self._given.extensions

    def due_in(self) -> float:
        """When it is to be renewed, s; not above 0: now."""
        return self._renew_at - time.time()

    def renew(self) -> None:
        """Ask for the next one; if there is none, the last one goes on."""
        try:
            with self._asking:
                if self.due_in() <= 0:  # nobody has meanwhile
                    self._last = self._ask()
        except Exception as error:  # noqa: BLE001 - it is told, and tried again
            self._renew_at = time.time() + _AGAIN_S
            said = f"oauth_cb gave no token: {error}"
            log.warning("%s; it is asked again in %d s", said, _AGAIN_S)
            if self._failed is not None:
                self._failed(said)

    def close(self) -> None:
        """Nobody wants any more."""
        self._over.set()


def _keep_new(held: Callable[[], TokenProvider | None], over: Event) -> None:
    due_s = 0.0
    while not over.wait(max(0.0, min(due_s, _LOOK_S))):
        provider = held()
        if provider is None:
            return
        if provider.due_in() <= 0:
            provider.renew()
        due_s = max(provider.due_in(), 0.05)
        del provider
