"""Tokens for SASL/OAUTHBEARER: from a provider of the user's or from a file, asked for by whoever
drives, or by a task of the event loop; or from an identity provider, by a thread of its own.

A provider is an object with `token()` and, if it likes, `extensions()`, as kafka-python and
aiokafka have them. It is asked once for each authentication of a connection, and keeps what it has
itself.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from kcore.actions import CallGssapi, FetchToken
from kcore.clients.aside import Aside
from kcore.clients.log import Log
from kcore.errors import KafkaConfigurationError
from kcore.settings.tokens import CADATA, CAFILE, Source, source_of
from kcore.transports.inputs import Token
from kcore.transports.sasl import Found, Take, failed

if TYPE_CHECKING:
    from ssl import SSLContext

    from kcore.clients.credentials.grants import Question
    from kcore.clients.turns import LoopTurns
    from kcore.settings.client import ClientConfig
    from kcore.transports.loops import Cancellable, Loop

log = Log("kcore.clients")

Wake = Callable[[], None]

# Of one client, under way at once: more than a cluster has brokers to connect to in one moment.
ASKED_MAX: Final = 512
_THIS_MACHINE: Final = ("localhost", "::1")


def provider_of(settings: ClientConfig) -> Any:
    """What gives tokens by these options, which ask for some. KafkaConfigurationError."""
    source, url = source_of(settings), settings.sasl_oauthbearer_token_endpoint_url or ""
    if source is Source.PROVIDER:
        return settings.sasl_oauth_token_provider
    extensions = settings.sasl_oauthbearer_extensions
    if source is Source.FILE:
        from kcore.clients.credentials.jwt_files import TokenFile  # noqa: PLC0415 - one of four

        return TokenFile(unquote(urlsplit(url).path), extensions)
    from kcore.clients.credentials.oidc import Endpoint  # noqa: PLC0415 - loads urllib.request

    _warn_of_plain_text(url)
    trusting = trusting_of(settings)
    if trusting is not None:
        trusting()  # what cannot be used is said now
    return Endpoint(url, _question(settings, source), extensions, trusting)


def trusting_of(settings: ClientConfig) -> Callable[[], SSLContext] | None:
    """What makes the context that an identity provider is asked with: by the file as it is then.
    None: the system's. It raises KafkaConfigurationError.
    """
    cafile, cadata = settings.sasl_oauthbearer_ssl_cafile, settings.sasl_oauthbearer_ssl_cadata
    if cafile is None and cadata is None:
        return None
    from kcore.transports.tls import TlsOptions  # noqa: PLC0415 - loads `ssl`

    def make() -> SSLContext:
        try:
            return TlsOptions(cafile=cafile, cadata=cadata).make_context()
        except KafkaConfigurationError as error:
            words = f"{CAFILE.removesuffix('ssl_cafile')}{error.args[0]}"
            raise KafkaConfigurationError(words, option=CADATA if cadata else CAFILE) from error

    return make


def tokens_of(settings: ClientConfig, ask_here: Callable[[Any], Any]) -> Any:
    """What asks for tokens by these options; ask_here: for providers that wait for nothing but
    themselves. KafkaConfigurationError.
    """
    provider = provider_of(settings)
    if source_of(settings) in {Source.PROVIDER, Source.FILE} or _waits_by_greenlets():
        return ask_here(provider)
    return AsideTokens(provider)


def _waits_by_greenlets() -> bool:
    """Whether gevent has taken the sockets' place: then whoever waits lets others go on, and in a
    thread of its own it would make a loop that nobody closes.
    """
    monkey = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("socket"))


def _question(settings: ClientConfig, source: Source) -> Question:
    from kcore.clients.credentials import grants  # noqa: PLC0415 - as above

    client_id = settings.sasl_oauthbearer_client_credentials_client_id
    scope = settings.sasl_oauthbearer_scope
    if source is Source.SECRET:
        secret = settings.sasl_oauthbearer_client_credentials_client_secret or ""
        urlencode = settings.sasl_oauthbearer_header_urlencode
        return grants.by_secret(client_id or "", secret, scope, urlencode=urlencode)
    from kcore.clients.credentials.assertions import assertion_of  # noqa: PLC0415 - as above

    assertion = assertion_of(settings)
    if source is Source.BEARER_ASSERTION:
        return grants.by_bearer_assertion(assertion, scope)
    return grants.by_client_assertion(client_id, assertion, scope)


def _warn_of_plain_text(url: str) -> None:
    """What is asked of this machine itself passes no network: a tunnel, a sidecar."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "http" and host not in _THIS_MACHINE and not host.startswith("127."):
        log.warning(
            "sasl_oauthbearer_token_endpoint_url is no https: the client's secret or assertion, and"
            " the tokens it brings, go to %s unencrypted",
            host,
        )


class AsideTokens:
    """Asks an identity provider, which may take its time."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._aside = Aside(ASKED_MAX, "the identity provider", "check that it can be reached")

    def ask(self, action: FetchToken | CallGssapi, take: Take, wake: Wake) -> None:
        """Begin to ask."""
        self._aside.ask(action, lambda: _asked(self._provider, action), take, wake)

    def close(self) -> None:
        """Nobody waits any more."""
        self._aside.close()


class Tokens:
    """Asks a provider in the thread that drives, which waits for it.

    KafkaConfigurationError: its `token` is a coroutine.
    """

    def __init__(self, provider: Any) -> None:
        if inspect.iscoroutinefunction(provider.token):
            option = "sasl_oauth_token_provider"
            raise KafkaConfigurationError(
                f"{option}: its token() is a coroutine, which only AsyncConsumer and AsyncProducer "
                "can wait for",
                option=option,
            )
        self._provider = provider

    def ask(self, action: FetchToken | CallGssapi, take: Take, _wake: Wake) -> None:
        """Ask now."""
        take(_asked(self._provider, action))

    def close(self) -> None:
        """Nothing is under way."""


class LoopTokens:
    """Asks a provider in a task of the driver's loop; where `token` is no coroutine, in one of the
    loop's threads.
    """

    in_loop = True

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._tasks: dict[object, Cancellable] = {}
        self._closed = False
        self.driver: LoopTurns

    def ask(self, action: FetchToken | CallGssapi, take: Take, _wake: Wake) -> None:
        """Begin to ask. Who waits for a provider gives up in time, but the provider may not."""
        if len(self._tasks) >= ASKED_MAX:
            take(failed(action, f"its provider owes the answer to {len(self._tasks)} questions"))
            return
        loop = self.driver.loop
        assert loop is not None
        key = object()
        self._tasks[key] = self.driver.ways.spawn(self._fetch, loop, action.link, take, key)

    async def _fetch(self, loop: Loop, link: int, take: Take, key: object) -> None:
        from asyncio import CancelledError  # noqa: PLC0415 - it is there, where there is a loop

        ask: Callable[[], Any] = self._provider.token
        try:
            if inspect.iscoroutinefunction(ask):
                found = await ask()
            else:
                found = await loop.run_in_executor(None, ask)
                if inspect.isawaitable(found):
                    found = await found
        except (Exception, CancelledError) as error:  # noqa: BLE001 - the user's, for the next poll
            found = error  # a CancelledError: of what it waits for; or the loop ends, and this does
        finally:
            self._tasks.pop(key, None)
        if self._closed or self.driver.closed:
            return
        if isinstance(found, BaseException):
            take(Token(link, None, {}, _told(found)))
        else:
            take(_judged(self._provider, found, link))
        self.driver.turn()

    def close(self) -> None:
        """Give up what is under way."""
        self._closed = True
        loop = self.driver.loop if self._tasks else None
        if loop is not None and not loop.is_closed():  # else nothing of them goes on
            for task in self._tasks.values():
                task.cancel()


def _asked(provider: Any, action: FetchToken | CallGssapi) -> Found:
    """What it gives now."""
    try:
        found = provider.token()
    except BaseException as error:
        # The user's, raised by the next poll; all else would end the thread that drives.
        if not (isinstance(error, Exception) or _is_cancelled(error)):
            raise
        return failed(action, _told(error))
    return _judged(provider, found, action.link)


def _is_cancelled(error: BaseException) -> bool:
    """Whether it is a CancelledError of asyncio, of a loop that the provider runs for itself."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def _told(error: BaseException) -> str:
    log.warning("the provider of tokens failed: %r", error)
    return f"{type(error).__name__}: {error}"


def _judged(provider: Any, found: object, link: int) -> Token:
    """What the provider gave, if it can be a token; it is shown to nobody."""
    if not isinstance(found, str):
        why = f"its provider gave a {type(found).__name__}, which is no str"
        return Token(link, None, {}, why)
    extensions: Mapping[str, str] = {}
    ask = getattr(provider, "extensions", None)
    try:
        if ask is not None:
            extensions = {str(name): str(value) for name, value in dict(ask() or {}).items()}
    except Exception as error:  # noqa: BLE001 - the user's; raised by the next poll
        return Token(link, None, {}, f"extensions(): {_told(error)}")
    return Token(link, found, extensions, "")
