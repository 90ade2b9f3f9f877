"""Proxies that other people have made, each a process of its own, on a port of this machine.

pproxy comes with the tests' own packages. What is there of Debian's (microsocks, dante-server,
tinyproxy, squid) is met as well: `apt-get install` them to have them all.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from tls_front import authority

from kcore.cli.demo.kafka_node import HOST, free_ports

USER, PASSWORD = "mallory", "p%40ss:w0rd"  # as a URL has it
PLAIN_PASSWORD = "p@ss:w0rd"  # and as the proxy does
PATIENCE_S = 20.0

SOCKS, HTTP, HTTPS = ("socks5", "socks5h"), ("http",), ("https",)


class Made(NamedTuple):
    """schemes: what it speaks. command: how it is run, given a port, whether it asks who one is,
    and a folder for its files. asks: whether it can.
    """

    schemes: Sequence[str]
    command: Callable[[int, bool, Path], list[str]]
    asks: bool = True


# It takes uvloop where there is one, and then asks for a loop in a way that uvloop refuses.
_PPROXY = "import sys; sys.modules['uvloop'] = None; from pproxy.server import main; main()"


def _pproxy(port: int, asks: bool, _folder: Path) -> list[str]:
    user = f"#{USER}:{PLAIN_PASSWORD}" if asks else ""
    listen = f"http+socks5://{HOST}:{port}{user}"
    # --auth: who was let in once is not let in for a month without a word.
    return [sys.executable, "-c", _PPROXY, "--auth=-1", "-l", listen]


def _pproxy_by_tls(port: int, asks: bool, _folder: Path) -> list[str]:
    user = f"#{USER}:{PLAIN_PASSWORD}" if asks else ""
    pair = authority().broker
    listen = ["-l", f"http+ssl://{HOST}:{port}{user}", "--ssl", f"{pair.certfile},{pair.keyfile}"]
    return [sys.executable, "-c", _PPROXY, "--auth=-1", *listen]


def _microsocks(port: int, asks: bool, _folder: Path) -> list[str]:
    user = ["-u", USER, "-P", PLAIN_PASSWORD] if asks else []
    return ["microsocks", "-i", HOST, "-p", str(port), *user]


def _danted(port: int, _asks: bool, folder: Path) -> list[str]:
    return [
        "danted",
        "-f",
        written(
            folder / "danted.conf",
            "logoutput: stderr",
            f"internal: {HOST} port = {port}",
            "external: lo",
            "socksmethod: none",
            "clientmethod: none",
            "client pass { from: 0/0 to: 0/0 }",
            "socks pass { from: 0/0 to: 0/0 }",
        ),
    ]


def _tinyproxy(port: int, asks: bool, folder: Path) -> list[str]:
    lines = [f"Port {port}", f"Listen {HOST}", f"Allow {HOST}", "Timeout 600"]
    # It takes no word with a colon or an @ in it.
    lines += [f"BasicAuth {USER} plain"] if asks else []
    return ["tinyproxy", "-d", "-c", written(folder / "tinyproxy.conf", *lines)]


def _squid(port: int, _asks: bool, folder: Path) -> list[str]:
    lines = [
        f"http_port {HOST}:{port}",
        "http_access allow all",
        "pinger_enable off",
        "cache deny all",
        "access_log none",
        f"cache_log {folder}/cache.log",
        f"pid_filename {folder}/squid.pid",
        f"coredump_dir {folder}",
        "shutdown_lifetime 0 seconds",
    ]
    return ["squid", "-N", "-f", written(folder / "squid.conf", *lines)]


MADE = {
    "pproxy": Made((*SOCKS, *HTTP), _pproxy),
    "pproxy-tls": Made(HTTPS, _pproxy_by_tls),
    "microsocks": Made(SOCKS, _microsocks),
    "danted": Made(SOCKS, _danted, asks=False),
    "tinyproxy": Made(HTTP, _tinyproxy),
    "squid": Made(HTTP, _squid, asks=False),
}
THERE = ["pproxy", "pproxy-tls", *(name for name in MADE if shutil.which(name))]


def written(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


class RealProxy:
    """One of MADE, from `with` on. asks: whether it wants USER and PASSWORD."""

    def __init__(self, name: str, *, asks: bool = False) -> None:
        self.name = name
        self._asks = asks
        self.port = free_ports(1)[0]

    def url(self, scheme: str, user: str | None = None) -> str:
        if user is None:
            word = "plain" if self.name == "tinyproxy" else PASSWORD
            user = f"{USER}:{word}@" if self._asks else ""
        return f"{scheme}://{user}{HOST}:{self.port}"

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="proxy-")
        folder = Path(self._folder.name)
        folder.chmod(0o777)  # some give up being root
        command = MADE[self.name].command(self.port, self._asks, folder)
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection((HOST, self.port), 1).close()
            except OSError:
                if time.monotonic() > end or self._process.poll() is not None:
                    self.__exit__()
                    raise
                time.sleep(0.05)
            else:
                return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(10)
        self._folder.cleanup()
