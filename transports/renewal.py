"""TLS by files that are replaced while a client runs.

Certificates that live for hours, or authorities that are renewed, come under the same names. A
connection that is there goes on; one that is made anew has to have what is in the files by then, or
a client that has run for longer than its certificate gets nowhere. So they are looked at before
each connection, and read again where they are others (what KIP-1288 proposes; here without a thread
or an option, as nothing but a new connection wants to know).
"""

from __future__ import annotations

import os
import ssl

from kcore.errors import KafkaConfigurationError
from kcore.transports.tls import TlsOptions

_State = tuple[tuple[int, int, int] | None, ...]


class RenewedContext:
    """An ssl.SSLContext, as far as connections are made by it; see the module's text.

    Files that cannot be used (half written, a certificate whose key is not there yet) are said in
    the log, and what was read before them goes on. KafkaConfigurationError: the first ones.
    """

    def __init__(self, options: TlsOptions) -> None:
        self._options = options
        self._paths = options.files()
        self._state = self._look()  # first: what changes meanwhile is read again
        self._refused: _State | None = None  # what the log has been told of
        self._context = options.make_context()

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, server_hostname: str
    ) -> ssl.SSLObject:
        """The context's own."""
        return self.current().wrap_bio(incoming, outgoing, server_hostname=server_hostname)

    def current(self) -> ssl.SSLContext:
        """By what is in the files now."""
        state = self._look()
        if state != self._state:
            try:
                self._context = self._options.make_context()
                self._state = state
            except Exception as error:  # noqa: BLE001 - ssl_password may be a function of anybody's
                # Tried again at the next connection, though the files be the same: descriptors had
                # run out, or a mode was wrong for a moment.
                if state == self._refused:
                    return self._context
                self._refused = state
                import logging  # noqa: PLC0415 - hardly ever

                log = logging.getLogger("kcore.transports")
                why = error if isinstance(error, KafkaConfigurationError) else repr(error)
                log.warning("TLS files have changed, and cannot be used: %s", why)
        return self._context

    def _look(self) -> _State:
        return tuple(map(_state_of, self._paths))


def _state_of(path: str) -> tuple[int, int, int] | None:
    """What differs when a file was replaced or written to; None: it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
