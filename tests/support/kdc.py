"""A Kerberos KDC of one's own (MIT's krb5kdc) on a free port of 127.0.0.1.

    with Kdc() as kdc:
        kdc.add("alice", lasts="10s")
        os.environ |= kdc.environment
        kdc.kinit("alice")

Its principals have random keys, each in a keytab.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

from kcore.cli.demo.kafka_node import HOST, free_ports

REALM = "KCORE.TEST"
TOOLS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))


def missing() -> str | None:
    """Why no KDC can be started, or spoken to, here; None if one can."""
    absent = [tool for tool in TOOLS if shutil.which(tool, path=PATH) is None]
    if absent:
        return f"no {', '.join(absent)}: Debian's krb5-kdc, krb5-admin-server and krb5-user"
    try:
        import gssapi  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        return str(error)
    return None


class Kdc:
    """See the module's text."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kcore-kdc-"))
        (self._port,) = free_ports(1)
        self.config = self.folder / "krb5.conf"
        self.cache = self.folder / "tickets"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """Of whoever is to use it. The cache is empty until `kinit`."""
        return {
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{self.cache}",
            "KRB5_CLIENT_KTNAME": f"FILE:{self.folder / 'none'}",
        }

    def start(self) -> None:
        """Have it, without principals, if it is new; begin to serve."""
        if not self.config.exists():
            self._configure()
            self._run("kdb5_util", "create", "-s", "-P", "for tests", "-r", REALM)
        self._process = subprocess.Popen(
            [self._found("krb5kdc"), "-n", "-r", REALM],
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 20
        while not self._answers():
            assert self._process.poll() is None, (self.folder / "kdc.log").read_text()
            assert time.monotonic() < end
            time.sleep(0.02)

    def stop(self) -> None:
        """Serve no more, until `start`."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def keytab(self, principal: str) -> Path:
        return self.folder / (principal.replace("/", "-") + ".keytab")

    def add(self, principal: str, lasts: str = "10h") -> Path:
        """A principal whose tickets last so long; its keytab."""
        self.kadmin(f'addprinc -randkey -maxlife "{lasts}" {principal}')
        self.kadmin(f"ktadd -k {self.keytab(principal)} {principal}")
        return self.keytab(principal)

    def kadmin(self, query: str) -> None:
        self._run("kadmin.local", "-r", REALM, "-q", query)

    def kinit(self, principal: str, *options: str) -> None:
        """Tickets into the cache."""
        self._run("kinit", "-k", "-t", str(self.keytab(principal)), *options, principal)

    def _configure(self) -> None:
        address = f"{HOST}:{self._port}"
        self.config.write_text(
            "[libdefaults]\n"
            f"default_realm = {REALM}\n"
            "dns_lookup_realm = false\ndns_lookup_kdc = false\n"
            "dns_canonicalize_hostname = false\nrdns = false\n"
            "udp_preference_limit = 1\n"
            f"[realms]\n{REALM} = {{\n  kdc = {address}\n}}\n"
        )
        (self.folder / "kdc.conf").write_text(
            f"[kdcdefaults]\nkdc_listen = {address}\nkdc_tcp_listen = {address}\n"
            f"[realms]\n{REALM} = {{\n"
            f"  database_name = {self.folder / 'principal'}\n"
            f"  key_stash_file = {self.folder / 'stash'}\n"
            f"  acl_file = {self.folder / 'acl'}\n}}\n"
            f"[logging]\nkdc = FILE:{self.folder / 'kdc.log'}\n"
        )

    def _answers(self) -> bool:
        try:
            socket.create_connection((HOST, self._port), timeout=1.0).close()
        except OSError:
            return False
        return True

    @staticmethod
    def _found(tool: str) -> str:
        found = shutil.which(tool, path=PATH)
        assert found is not None
        return found

    def _run(self, tool: str, *args: str) -> None:
        done = subprocess.run(
            [self._found(tool), *args],
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert not done.returncode, f"{tool} {args}: {done.stdout}{done.stderr}"
