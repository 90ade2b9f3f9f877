"""Names in certificates as openssl takes them, and how Java writes them."""

from __future__ import annotations

import subprocess
from pathlib import Path

NAMES = {
    "/CN=alice": "CN=alice",
    "/C=DE/ST=Hessen/L=Ort/O=Example, Inc./OU=ops/CN=alice": (
        r"CN=alice,OU=ops,O=Example\, Inc.,L=Ort,ST=Hessen,C=DE"
    ),
    r"/DC=example/DC=org/UID=a\+b/CN=semi;colon<x>\"y": (
        r"CN=semi\;colon\<x\>\"y,UID=a\+b,DC=org,DC=example"
    ),
    "/CN= both ends ": r"CN=\ both ends\ ",
    "/CN=#1 = x": r"CN=\#1 \= x",
    "/CN=J\u00fcrgen \u6f22": "CN=J\u00fcrgen \u6f22",
    "/CN=x/emailAddress=a@b.c": "1.2.840.113549.1.9.1=#16056140622e63,CN=x",
    "/CN=x/serialNumber=12": "2.5.4.5=#13023132,CN=x",
    "/street=Way 1/CN=x": "CN=x,STREET=Way 1",
    r"/CN=back\\slash": r"CN=back\\slash",
}


def der_certificate(folder: Path, subj: str) -> bytes:
    made = folder / "one.der"
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-utf8")
    files = ("-keyout", str(folder / "one.key"), "-out", str(made), "-outform", "DER")
    command = ["openssl", "req", "-x509", *kind, *files, "-subj", subj]
    subprocess.run(command, check=True, capture_output=True)
    return made.read_bytes()
