"""Whose a certificate is, as Java writes it (X500Principal.getName, RFC 2253). Certificates are
made by openssl. tests/embedded/test_embedded_java_security.py asks Java itself.
"""

import subprocess

import certificates
import pytest
from distinguished_names import NAMES, der_certificate

from kcore.transports.distinguished import subject

pytestmark = pytest.mark.skipif(
    certificates.missing() is not None, reason=str(certificates.missing())
)


@pytest.mark.parametrize(("subj", "written"), NAMES.items(), ids=range(len(NAMES)))
def test_names(tmp_path, subj, written):
    assert subject(der_certificate(tmp_path, subj)) == written


def test_what_is_no_certificate(tmp_path):
    whole = der_certificate(tmp_path, "/CN=x")
    for wrong in (b"", b"\x30", b"\x30\x00", b"\x30\x82\xff\xff", whole[:200], b"\x30\x02\x30\x00"):
        with pytest.raises(ValueError, match=r"certificate|unpack"):
            subject(wrong)


def test_several_parts_in_one(tmp_path):
    made = tmp_path / "both.pem"
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    subprocess.run(
        ["openssl", "req", "-x509", *kind, "-keyout", str(tmp_path / "k"), "-out", str(made),
         "-multivalue-rdn", "-subj", "/O=o/CN=a+UID=b"],
        check=True, capture_output=True,
    )  # fmt: skip
    der = subprocess.run(
        ["openssl", "x509", "-in", str(made), "-outform", "DER"], check=True, capture_output=True
    ).stdout
    assert subject(der) == "CN=a+UID=b,O=o"
