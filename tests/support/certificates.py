"""Certificates for tests, made by the openssl command: a CA, servers, a client, a stranger's CA."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def missing() -> str | None:
    """Why no certificates can be made here; None if they can."""
    return None if shutil.which("openssl") else "no openssl on the PATH"


class Certificates:
    """PEM files in `folder`; "broker" is for 127.0.0.1 and localhost, "elsewhere" is not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca = self._authority("ca")
        self.stranger = self._authority("stranger")
        self.broker = self._signed("broker", "IP:127.0.0.1,DNS:localhost")
        self.elsewhere = self._signed("elsewhere", "DNS:kafka.example")
        self.client = self._signed("client", "DNS:client")

    def key(self, name: str) -> Path:
        return self.folder / f"{name}.key"

    def with_key(self, name: str) -> Path:
        """Key and certificate in one file, as Kafka's PEM stores have them."""
        both = self.folder / f"{name}.both.pem"
        both.write_text(self.key(name).read_text() + (self.folder / f"{name}.pem").read_text())
        return both

    def _authority(self, name: str) -> Path:
        usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
        return self._request(name, "-addext", "basicConstraints=critical,CA:TRUE", *usage)

    def _signed(self, name: str, alternatives: str) -> Path:
        signer = ("-CA", str(self.ca), "-CAkey", str(self.key("ca")))
        kind = ("-addext", "basicConstraints=critical,CA:FALSE")
        return self._request(name, *signer, *kind, "-addext", f"subjectAltName={alternatives}")

    def _request(self, name: str, *more: str) -> Path:
        made = self.folder / f"{name}.pem"
        kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        files = ("-keyout", str(self.key(name)), "-out", str(made))
        subject = ("-subj", f"/CN={name}", "-days", "2")
        subprocess.run(
            ["openssl", "req", "-x509", *kind, *files, *subject, *more],
            check=True,
            capture_output=True,
        )
        return made
