"""Kerberos for SASL/GSSAPI: makes the calls that a core asks for, by the library `gssapi`.

A call may wait for a KDC, or for the files of a ticket cache, so each is made aside (`aside.py`).

Tickets come from the cache (kinit, KRB5CCNAME), which is looked into anew by each exchange, or from
a keytab. Those of a keytab are kept in memory, one cache for all clients of the process, and the
library renews them when half their time is over.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from kcore.actions import CallGssapi, FetchToken, GssapiCall
from kcore.clients.aside import Aside
from kcore.transports.background import native_lock
from kcore.transports.inputs import Called
from kcore.transports.kerberos import checked_keytab, load
from kcore.transports.sasl import Found, Take, failed

if TYPE_CHECKING:
    from kcore.settings.client import ClientConfig

# Of one client, under way at once: more than a cluster has brokers to connect to in one moment.
CALLS_MAX: Final = 512
_WHY_CHARS_MAX: Final = 600

# What to do, by the number krb5 has for what is wrong: RFC 4120's, and those of the library's own.
_BASE: Final = -1765328384
_NO_TICKET: Final = "get a ticket (kinit), or give sasl_kerberos_keytab; KRB5CCNAME names the cache"
_OVER: Final = "get a new ticket (kinit), or give sasl_kerberos_keytab, which renews its own"
_NOT_RENEWED: Final = "no new one could be had by sasl_kerberos_keytab: check that the KDC runs"
_UNKNOWN_US: Final = "the KDC does not know us: check sasl_kerberos_principal and its realm"
_UNKNOWN_BROKER: Final = (
    "the KDC has no such service: check sasl_kerberos_service_name, and that the broker's host "
    "name is the one it has a principal for (else sasl_kerberos_domain_name)"
)
_NO_KEYS: Final = (
    "check that sasl_kerberos_keytab has keys of sasl_kerberos_principal (klist -k), in its realm"
)
_NO_KDC: Final = "check that the KDC runs, and krb5.conf (KRB5_CONFIG)"
_OLD_KEYS: Final = "the keys of sasl_kerberos_keytab are not the KDC's (any more): export it anew"
_ADVICE: Final[Mapping[int, str]] = {
    _BASE + 6: _UNKNOWN_US,
    _BASE + 7: _UNKNOWN_BROKER,
    _BASE + 14: "KDC and client have no encryption type in common: check krb5.conf and the keytab",
    _BASE + 24: _OLD_KEYS,
    _BASE + 31: _OLD_KEYS,
    _BASE + 32: _OVER,
    _BASE + 37: "the clocks differ: set this machine's by NTP, or the KDC's or broker's",
    _BASE + 135: _NO_KDC,  # krb5.conf cannot be read
    _BASE + 141: _NO_TICKET,
    _BASE + 154: _NO_KDC,  # the realm's KDC is not known
    _BASE + 156: _NO_KDC,
    _BASE + 181: _NO_KEYS,
    _BASE + 195: _NO_TICKET,
    _BASE + 220: _NO_KDC,
    _BASE + 224: _NO_KDC,  # no default realm
}

_making: Final[dict[str, Any]] = {}  # a lock by cache in memory


class Kerberos:
    """See the module's text. KafkaConfigurationError: no library, no such keytab."""

    def __init__(self, settings: ClientConfig) -> None:
        self._gssapi = load()
        self._settings = settings
        self._aside = Aside(CALLS_MAX, "the Kerberos library", _NO_KDC)
        self._store: dict[str, str] = {}
        if settings.sasl_kerberos_keytab is not None:
            keytab = checked_keytab(settings.sasl_kerberos_keytab)
            who = settings.sasl_kerberos_principal or ""
            cache = f"MEMORY:kcore {os.getpid()} {keytab} {who}"
            self._store = {"client_keytab": f"FILE:{keytab}", "ccache": cache}

    def ask(self, action: FetchToken | CallGssapi, take: Take, wake: Callable[[], None]) -> None:
        """Begin a call."""
        assert isinstance(action, CallGssapi)
        self._aside.ask(action, lambda: self._call(action), take, wake)

    def close(self) -> None:
        """Nobody waits any more."""
        self._aside.close()

    def _call(self, action: CallGssapi) -> Found:
        try:
            if action.call is GssapiCall.STEP:
                return self._step(action)
            context: Any = action.context
            if action.call is GssapiCall.UNWRAP:
                result = context.unwrap(action.data).message
            else:
                result = context.wrap(action.data, False).message
            return Called(action.link, result, context)
        except Exception as error:  # noqa: BLE001 - the library's; raised by the next poll
            return failed(action, self._why(action, error))

    def _step(self, action: CallGssapi) -> Found:
        context: Any = action.context
        if context is not None:
            token = context.step(action.data)
            return Called(action.link, token or b"", context, context.complete)
        # The library empties a cache and fills it anew under whoever reads it.
        alone = _lock_of(self._store["ccache"]) if self._store else nullcontext()
        with alone:
            context = self._begun(action.host)
            token = context.step()
        return Called(action.link, token or b"", context, context.complete)

    def _begun(self, host: str) -> Any:
        g = self._gssapi
        flags = g.RequirementFlag.mutual_authentication | g.RequirementFlag.integrity
        context = g.SecurityContext(
            name=self._target(host),
            creds=self._credentials(),
            flags=flags,
            mech=g.MechType.kerberos,
            usage="initiate",
        )
        context.__DEFER_STEP_ERRORS__ = False  # what is wrong is told now, not by the next call
        return context

    def _target(self, host: str) -> Any:
        g, settings = self._gssapi, self._settings
        name = settings.sasl_kerberos_name
        if name is None:
            host = settings.sasl_kerberos_domain_name or host
            name = f"{settings.sasl_kerberos_service_name}@{host}"
        if not isinstance(name, str):
            return name
        kinds = g.NameType
        return g.Name(name, kinds.kerberos_principal if "/" in name else kinds.hostbased_service)

    def _credentials(self) -> Any:
        """Who we are, if it is said; a keytab's tickets are renewed here, when it is time."""
        g, who = self._gssapi, self._settings.sasl_kerberos_principal
        if who is None and not self._store:
            return None
        return g.Credentials(
            name=None if who is None else g.Name(who, g.NameType.kerberos_principal),
            mechs=[g.MechType.kerberos],
            usage="initiate",
            store=self._store or None,
        )

    def _why(self, action: CallGssapi, error: Exception) -> str:
        """GSSAPI's own words, and what to do."""
        who = f"GSSAPI's {action.call.value} failed"
        if not isinstance(error, self._gssapi.exceptions.GSSError):
            return f"{who}: {type(error).__name__}: {str(error)[:_WHY_CHARS_MAX]}"
        said = f"{who}: {error.gen_message()[:_WHY_CHARS_MAX]}"
        number = (error.min_code & 0xFFFFFFFF) - (1 << 32)
        advice = _ADVICE.get(number, "")
        if not advice and isinstance(error, self._gssapi.exceptions.MissingCredentialsError):
            advice = _NO_TICKET
        if self._store:
            advice = {_NO_TICKET: _NO_KEYS, _OVER: _NOT_RENEWED}.get(advice, advice)
        return f"{said}: {advice}" if advice else said


def _lock_of(cache: str) -> Any:
    return _making.setdefault(cache, native_lock())
