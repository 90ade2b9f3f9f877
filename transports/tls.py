"""TLS between a driver's socket and the pump, in memory, so that it is the same under every driver.

The socket carries ciphertext; an `ssl.SSLObject` with two memory buffers turns it into plain bytes
and back. Nothing here blocks or waits: what a socket would block for is a BlockingIOError, as of
the socket itself. So gevent, patched or not, needs no TLS of its own, and a read of the kernel may
bring many records at once.

No close_notify is sent: Kafka's frames say themselves whether one is whole, and the child of a fork
must be able to let go of a link in silence.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, cast

from kcore.errors import KafkaConfigurationError
from kcore.transports.sockets import UntrustedError
from kcore.values import Value, field

if TYPE_CHECKING:
    from kcore.transports.renewal import RenewedContext

# A read of the kernel: some TLS records (16 KiB each) at a time.
_CIPHERTEXT_BYTES: Final = 262_144
# What one write encrypts at most: a huge request is not to be held twice.
_PLAINTEXT_BYTES: Final = 262_144

# Whether a server asks its clients for certificates (Java: ssl.client.auth).
NOT_ASKED: Final = "none"
CLIENT_AUTH: Final = {
    NOT_ASKED: ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}

Password = str | bytes | Callable[[], str | bytes]


class TlsOptions(Value):
    """kafka-python's ssl_* options without the prefix. `context` stands for all others.

    check_hostname: whether the certificate must be for the host that was connected to.
    cafile: PEM of the authorities to trust, or a folder of such (with names that `openssl rehash`
    gives); None: the system's.
    certfile, keyfile, password: our own certificate, for brokers that ask for one.
    cadata, certdata, keydata: the same as texts, in place of files (KIP-651).
    ciphers: OpenSSL's list for TLS 1.2. crlfile: revoked certificates (PEM); then every broker's is
    looked up there.
    """

    context: ssl.SSLContext | None = None
    check_hostname: bool = True
    cafile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    password: Password | None = field(default=None, repr=False)
    cadata: str | None = field(default=None, repr=False)
    certdata: str | None = field(default=None, repr=False)
    keydata: str | None = field(default=None, repr=False)
    ciphers: str | None = None
    crlfile: str | None = None

    def make_context(self) -> ssl.SSLContext:
        """What to connect with: TLS 1.2 at least, certificates always verified.

        KafkaConfigurationError: a file that cannot be read or is not what it should be.
        """
        if self.context is not None:
            return self.context
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.check_hostname
        return self._load(context, authorities=True)

    def files(self) -> tuple[str, ...]:
        """Whatever is read for it."""
        if self.context is not None:
            return ()
        given = self.cafile, self.certfile, self.keyfile, self.crlfile
        return tuple(path for path in given if path is not None)

    def make_serving_context(self, client_auth: str) -> ssl.SSLContext:
        """What to be connected to with. client_auth: whether clients are asked for certificates of
        these authorities: CLIENT_AUTH. KafkaConfigurationError.
        """
        if self.context is not None:
            return self.context
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._load(context, authorities=client_auth != NOT_ASKED)
        context.verify_mode = CLIENT_AUTH[client_auth]
        return context

    def _load(self, context: ssl.SSLContext, *, authorities: bool) -> ssl.SSLContext:
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        loads = [
            ("ssl_certdata" if self.certdata else "ssl_certfile", self._load_own),
            ("ssl_ciphers", self._set_ciphers),
            ("ssl_crlfile", self._load_revoked),
        ]
        if authorities:
            option = "ssl_cadata" if self.cadata else "ssl_cafile"
            loads.insert(0, (option, self._load_authorities))
        for option, load in loads:
            try:
                load(context)
            except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
                value = getattr(self, option.removeprefix("ssl_"))
                given = option if option.endswith("data") else f"{option}={value!r}"
                raise KafkaConfigurationError(
                    f"{given}: {_of_a_store(option, value) or _reason(error)}", option=option
                ) from error
        return context

    def _load_authorities(self, context: ssl.SSLContext) -> None:
        if self.cafile is None and self.cadata is None:
            context.load_default_certs()
        else:
            place = "capath" if self.cafile and os.path.isdir(self.cafile) else "cafile"
            context.load_verify_locations(**{place: self.cafile}, cadata=self.cadata)

    def _load_own(self, context: ssl.SSLContext) -> None:
        # Without a password OpenSSL would ask the terminal for one.
        password = self.password if self.password is not None else _no_password
        if self.certdata is not None:
            with _as_file(f"{self.keydata or ''}\n{self.certdata}") as path:
                context.load_cert_chain(path, self.keyfile, password)
        elif self.certfile is not None:
            context.load_cert_chain(self.certfile, self.keyfile, password)

    def _set_ciphers(self, context: ssl.SSLContext) -> None:
        if self.ciphers is not None:
            context.set_ciphers(self.ciphers)

    def _load_revoked(self, context: ssl.SSLContext) -> None:
        if self.crlfile is not None:
            context.load_verify_locations(self.crlfile)
            context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """The name of a file with this in it, which nobody else can read: Python's ssl takes a chain
    from files alone. In memory where the system has such files.
    """
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        with open(os.memfd_create("kcore"), "wb") as file:
            file.write(text.encode())
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with TemporaryDirectory(prefix="kcore-") as folder:
        path = os.path.join(folder, "own.pem")
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(text.encode())
        yield path


class TlsSocket:
    """A socket's `send`, `recv_into` and `close`, with TLS in between. `flags` go to the socket.

    sock: it, or another one of this kind, of TLS with a proxy. peer: who is at the other end, for
    errors. unsent: ciphertext waits for the socket to be writable: then call `flush`.
    unread: plain bytes may be at hand although the socket is not readable.
    OSError from the socket; UntrustedError; ValueError for a host that cannot be one.
    """

    __slots__ = (
        "_decrypt",
        "_fault",
        "_flags",
        "_incoming",
        "_outer",
        "_outgoing",
        "_peer",
        "_rest",
        "_scratch",
        "_sock",
        "_tls",
        "unread",
    )

    def __init__(
        self,
        sock: socket.socket | TlsSocket,
        context: ssl.SSLContext | RenewedContext,
        host: str,
        flags: int,
        peer: str = "broker",
    ) -> None:
        self._sock = sock
        self._outer = sock if isinstance(sock, TlsSocket) else None
        self._peer = peer
        self._flags = flags
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        name = host.removesuffix(".")  # a name from the root on: certificates have no such dot
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        # Given a buffer it answers with a count, which its annotation does not know.
        self._decrypt = cast("Callable[[int, memoryview], int]", self._tls.read)
        self._fault: OSError | None = None
        self._rest = memoryview(b"")
        self._scratch = memoryview(bytearray(_CIPHERTEXT_BYTES))
        self.unread = False

    @property
    def unsent(self) -> bool:
        """See the class."""
        if self._outer is not None and self._outer.unsent:
            return True
        return bool(self._rest) or self._outgoing.pending > 0

    def handshake(self) -> bool:
        """Go on with it as far as the socket allows; True when it is done."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self.flush()
                try:
                    more = self._fill()
                except BlockingIOError:
                    return False
                if not more:
                    raise ConnectionResetError(
                        "closed by the peer during the TLS handshake: is TLS spoken on this port?"
                    ) from None
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):  # no refusal: as if it hung up
                raise ConnectionResetError("closed by the peer during the TLS handshake") from None
            except ssl.SSLError as error:
                self._say_why()
                raise UntrustedError(_reason(error, self._peer)) from error
            else:
                self.flush()
                self.unread = True  # the peer's first words may have come along
                return True

    def send(self, data: bytes | memoryview, _flags: int = 0) -> int:
        """Take a part of `data`, at least one byte; BlockingIOError while earlier bytes wait."""
        if not self.flush():
            raise BlockingIOError
        with memoryview(data) as view, view[:_PLAINTEXT_BYTES] as part:
            taken = self._tls.write(part)
        self.flush()
        return taken

    def flush(self) -> bool:
        """Write ciphertext until the socket takes no more; True when nothing is left."""
        while self._rest or self._outgoing.pending:
            if not self._rest:
                self._rest = memoryview(self._outgoing.read())
            try:
                self._rest = self._rest[self._sock.send(self._rest, self._flags) :]
            except (BlockingIOError, InterruptedError):
                return False
            except OSError:
                self._outgoing.read()  # nobody takes it, and what has arrived is read behind it
                self._rest = memoryview(b"")
                raise
        return self._outer is None or self._outer.flush()

    def recv_into(self, room: memoryview, _size: int = 0, _flags: int = 0) -> int:
        """Fill `room` with as much as there is; 0 at the end; BlockingIOError if nothing came."""
        filled = 0
        self.unread = False
        try:
            while filled < len(room):
                count = self._read(room[filled:])
                if not count:
                    break
                filled += count
        except BlockingIOError:
            if not filled:
                raise
            return filled
        except OSError as fault:
            if not filled:
                raise
            # What came before it counts. Its frames have `room`, which is the core's again by then.
            fault.__cause__ = fault.__context__ = None
            self._fault = fault.with_traceback(None)
        self.unread = filled > 0  # more records, or the end that was just seen
        return filled

    def _read(self, room: memoryview) -> int:
        """One record, or a part of it."""
        if self._fault is not None:
            raise self._fault
        while True:
            try:
                return self._decrypt(len(room), room)
            except ssl.SSLWantReadError:
                self.flush()  # TLS has something to say by itself now and then (new keys)
                self._fill()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return 0
            except ssl.SSLError as error:
                raise _after_handshake(error, self._peer) from error

    def close(self) -> None:
        """Close the socket, without a word."""
        self._sock.close()

    def _fill(self) -> bool:
        """Take ciphertext from the socket; False at its end. BlockingIOError."""
        try:
            count = self._sock.recv_into(self._scratch, 0, self._flags)
        except InterruptedError:
            raise BlockingIOError from None
        if count:
            self._incoming.write(self._scratch[:count])
        else:
            self._incoming.write_eof()
        return count > 0

    def _say_why(self) -> None:
        """Send the alert that tells the peer why, if the socket takes it."""
        try:
            self.flush()
        except OSError:
            return


def _after_handshake(error: ssl.SSLError, peer: str) -> OSError:
    # TLS 1.3 lets a client finish before the broker has looked at the client's certificate: the
    # refusal is an alert, read in place of the first answer.
    if "ALERT" in (getattr(error, "reason", None) or ""):
        return UntrustedError(_reason(error, peer))
    return ConnectionResetError(f"TLS: {_reason(error, peer)}")


# How to make PEM of a key store of Java's.
TRUST_STORE_TO_PEM: Final = "`keytool -list -rfc -keystore FILE > ca.pem` makes PEM of a store"
KEY_STORE_TO_PEM: Final = (
    "`openssl pkcs12 -in FILE -nodes -out client.pem` makes PEM of a PKCS12 store, "
    "`keytool -importkeystore -srckeystore FILE -destkeystore OTHER -deststoretype pkcs12` that of "
    "a JKS one"
)
_JKS: Final = b"\xfe\xed\xfe\xed"
_DER: Final = b"\x30"  # PKCS12 is that, and so is a certificate that is no PEM


def _of_a_store(option: str, path: object) -> str:
    """What is wrong with a file that is no PEM; "" if it may be."""
    if option not in ("ssl_cafile", "ssl_certfile") or not isinstance(path, str):
        return ""
    try:
        with open(path, "rb") as file:
            begins = file.read(len(_JKS))
    except OSError:
        return ""
    advice = TRUST_STORE_TO_PEM if option == "ssl_cafile" else KEY_STORE_TO_PEM
    if begins == _JKS:
        return f"it is a key store of Java's (JKS), and PEM is needed: {advice}"
    if begins.startswith(_DER):
        return f"it is not PEM, but binary (PKCS12, or DER): {advice}"
    return ""


# X509_V_ERR_: a certificate signed by itself, alone or in the chain; an issuer that is not known,
# a single certificate.
_NOBODY_VOUCHES: Final = frozenset({18, 19, 20, 21})
_NO_TLS: Final = ": the port does not speak TLS"
_HINTS: Final = {
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "PACKET_LENGTH_TOO_LONG": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
}


def _reason(error: BaseException, peer: str = "broker") -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        told = f"the {peer}'s certificate is not trusted: {error.verify_message}"
        if peer == "broker" and error.verify_code in _NOBODY_VOUCHES:
            told += ": give the authority that has signed it as ssl_cafile"
        return told
    reason: str | None = getattr(error, "reason", None)  # not every SSLError has one
    if isinstance(error, ssl.SSLError) and reason:
        said = reason.lower().replace("_", " ")
        if "alert" not in said:
            return said + _HINTS.get(reason, "")
        hint = ": it wants ssl_certfile, or does not trust it" if "certificate" in said else ""
        return f"the {peer} refused ({said}){hint}"
    if isinstance(error, ssl.SSLError) and "PEM lib" in str(error):
        return (
            "no key could be read: is it in there (if not, give ssl_keyfile), and is ssl_password "
            "the right one?"
        )
    if isinstance(error, ssl.SSLError) and len(error.args) == 1:
        return str(error.args[0])
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)


def _no_password() -> str:
    raise ValueError("the key is encrypted: give ssl_password")
