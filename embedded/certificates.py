"""Certificates made on the spot, for brokers in tests: an authority, and what it signs.

Made by the command `openssl`, which nearly every machine has, so that nothing need be installed.
They are good for a few days, and gone with their folder.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import subprocess
import weakref
from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from kcore.errors import KafkaConfigurationError, UsageError
from kcore.tuples import NamedTuple

_DAYS: Final = "7"
# An authority without a use is refused by `ssl.create_default_context` from Python 3.13 on, and
# what openssl makes is one unless told otherwise.
_AN_AUTHORITY: Final = (
    "basicConstraints=critical,CA:TRUE",
    "keyUsage=critical,keyCertSign,cRLSign",
)
_NO_AUTHORITY: Final = "basicConstraints=critical,CA:FALSE"
_LOCAL: Final = ("127.0.0.1", "::1", "localhost")
_TIMEOUT_S: Final = 30.0


class Pair(NamedTuple):
    """PEM files: `ssl_certfile` and `ssl_keyfile` of whoever is to have them."""

    certfile: str
    keyfile: str


def check_possible() -> None:
    """KafkaConfigurationError: there is nothing to make them with."""
    if shutil.which("openssl") is None:
        raise KafkaConfigurationError(
            "ssl_certfile is not given, and without the command openssl none can be made: give "
            "ssl_certfile and ssl_keyfile",
            option="ssl_certfile",
        )


class Authority:
    """Signs for a broker that is reached at `hosts`, and for its clients."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self._root = Path(mkdtemp(prefix="kcore-"))
        self._remove = weakref.finalize(self, _remove, self._root, os.getpid())
        self._count = 0
        made = self._make("CN=kcore embedded authority", *_AN_AUTHORITY)
        self.cafile = made.certfile
        self._signer = ("-CA", made.certfile, "-CAkey", made.keyfile)
        names = [_alternative(host) for host in dict.fromkeys((*_LOCAL, *hosts))]
        self.broker = self._make(
            "CN=kcore embedded", _NO_AUTHORITY, f"subjectAltName={','.join(names)}"
        )

    def client(self, name: str) -> Pair:
        """A certificate for a client: a Kafka knows it as `User:CN=name`."""
        if not name or not name.isprintable():
            raise UsageError(f"name={name!r} is nothing that a certificate can be for")
        return self._make(f"CN={name}", _NO_AUTHORITY, "extendedKeyUsage=clientAuth")

    def close(self) -> None:
        """Delete all of them."""
        self._remove()

    def _make(self, subject: str, *extensions: str) -> Pair:
        self._count += 1
        pair = Pair(*(str(self._root / f"{self._count}.{end}") for end in ("pem", "key")))
        what, _, whose = subject.partition("=")
        escaped = "".join(f"\\{char}" if char in "/\\+=" else char for char in whose)
        command = (
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"),
            *("ec_paramgen_curve:prime256v1", "-nodes", "-utf8", "-days", _DAYS),
            *("-subj", f"/{what}={escaped}"),
            *(word for extension in extensions for word in ("-addext", extension)),
            *("-keyout", pair.keyfile, "-out", pair.certfile),
            *getattr(self, "_signer", ()),
        )
        done = subprocess.run(  # noqa: S603 - its arguments are ours
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
        if done.returncode:
            raise KafkaConfigurationError(
                f"openssl cannot make a certificate here (3.0 or later can): {done.stderr.strip()}",
                option="ssl_certfile",
            )
        return pair


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in the child of a fork, whose parent goes on
        shutil.rmtree(folder, ignore_errors=True)


def _alternative(host: str) -> str:
    """How a certificate names a host."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return f"DNS:{host}"
    return f"IP:{host}"
