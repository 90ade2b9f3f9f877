"""What a core is told when its actions are drained."""

from __future__ import annotations

from collections.abc import Mapping

from kcore.transports.core import Core
from kcore.tuples import NamedTuple


class Ending(NamedTuple):
    """How a connection ended, as the core will be told."""

    link: int
    why: str
    more: bool = False
    untrusted: bool = False
    by_proxy: bool = False

    def tell(self, core: Core, now: int) -> None:
        """Do so."""
        core.handle_closed(
            self.link,
            self.why,
            now,
            more_addresses=self.more,
            untrusted=self.untrusted,
            by_proxy=self.by_proxy,
        )


class Token(NamedTuple):
    """What came of asking for a token, as the core will be told."""

    link: int
    token: str | None
    extensions: Mapping[str, str]
    why: str

    def tell(self, core: Core, now: int) -> None:
        """Do so."""
        core.handle_token(self.link, self.token, now, extensions=self.extensions, why=self.why)


class Called(NamedTuple):
    """What came of a call of GSSAPI, as the core will be told."""

    link: int
    result: bytes | None
    context: object = None
    complete: bool = False
    why: str = ""

    def tell(self, core: Core, now: int) -> None:
        """Do so."""
        core.handle_gssapi(
            self.link, self.result, now, context=self.context, complete=self.complete, why=self.why
        )
