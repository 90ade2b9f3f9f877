"""Files of TLS that are replaced under a client."""

import errno
import os
import shutil
import ssl
import subprocess

import certificates
import pytest
from certificates import Certificates
from test_tls import server_side
from toy_core import frame

from kcore.errors import KafkaConfigurationError
from kcore.transports.renewal import RenewedContext
from kcore.transports.tls import TlsOptions

pytestmark = pytest.mark.skipif(
    certificates.missing() is not None, reason=str(certificates.missing())
)


@pytest.fixture(scope="module")
def pems(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def cafile(pems, tmp_path):
    return shutil.copy(pems.stranger, tmp_path / "ca.pem")


def replace(path, text):
    """As what renews certificates does: the name is never without a file."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)


def authorities(context):
    return {dict(part[0] for part in ca["subject"])["commonName"] for ca in context.get_ca_certs()}


def test_a_connection_has_what_is_in_the_file_by_then(make_rig, serve, pems, cafile):
    rig = make_rig(tls=RenewedContext(TlsOptions(cafile=str(cafile))))
    server = serve(server_side(pems))
    refused = rig.core.connect("127.0.0.1", server.port)
    rig.until(lambda: refused in rig.core.untrusted)
    replace(cafile, pems.ca.read_text())
    link = rig.connect(server)
    rig.core.send(link, frame(b"x"))
    rig.until(lambda: rig.core.frames)


def test_what_is_not_touched_is_read_once(pems, cafile):
    renewed = RenewedContext(TlsOptions(cafile=str(cafile)))
    before = renewed.current()
    assert renewed.current() is before
    assert authorities(before) == {"stranger"}
    replace(cafile, pems.ca.read_text())
    assert authorities(renewed.current()) == {"ca"}
    assert renewed.current() is renewed.current()


def test_what_is_written_into_the_file_itself_is_read_too(pems, cafile):
    renewed = RenewedContext(TlsOptions(cafile=str(cafile)))
    with open(cafile, "a", encoding="ascii") as file:
        file.write(pems.ca.read_text())
    assert authorities(renewed.current()) == {"ca", "stranger"}


@pytest.mark.parametrize("text", ["", "half of a certi", None], ids=str)
def test_what_cannot_be_used_is_said_once_and_the_last_goes_on(pems, cafile, caplog, text):
    renewed = RenewedContext(TlsOptions(cafile=str(cafile)))
    if text is None:
        cafile.unlink()
    else:
        replace(cafile, text)
    for _ in range(3):
        assert authorities(renewed.current()) == {"stranger"}
    (said,) = [record.getMessage() for record in caplog.records]
    assert "cannot be used" in said
    assert f"ssl_cafile='{cafile}'" in said
    replace(cafile, pems.ca.read_text())
    assert authorities(renewed.current()) == {"ca"}


def test_what_could_not_be_opened_for_a_moment_is_read_at_the_next_connection(
    pems, cafile, caplog, monkeypatch
):
    renewed = RenewedContext(TlsOptions(cafile=str(cafile)))
    replace(cafile, pems.ca.read_text())

    def fail(_options):
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(TlsOptions, "make_context", fail)
        for _ in range(3):
            assert authorities(renewed.current()) == {"stranger"}
    assert authorities(renewed.current()) == {"ca"}
    assert len(caplog.records) == 1


def test_a_certificate_may_come_before_its_key(pems, tmp_path, caplog):
    cert, key = tmp_path / "own.pem", tmp_path / "own.key"
    shutil.copy(pems.client, cert)
    shutil.copy(pems.key("client"), key)
    options = TlsOptions(cafile=str(pems.ca), certfile=str(cert), keyfile=str(key))
    renewed = RenewedContext(options)
    before = renewed.current()
    replace(cert, pems.elsewhere.read_text())
    assert renewed.current() is before
    assert len(caplog.records) == 1
    replace(key, pems.key("elsewhere").read_text())
    assert renewed.current() is not before
    assert len(caplog.records) == 1


def test_a_password_that_is_not_to_be_had_any_more_is_no_reason_to_stop(pems, tmp_path, caplog):
    cert, key = tmp_path / "own.pem", tmp_path / "own.key"
    shutil.copy(pems.client, cert)
    encrypt = ["openssl", "pkey", "-aes128", "-passout", "pass:told", "-out", str(key)]
    subprocess.run([*encrypt, "-in", str(pems.key("client"))], check=True)
    told = ["told"]
    options = TlsOptions(certfile=str(cert), keyfile=str(key), password=lambda: told[0])
    renewed = RenewedContext(options)
    before = renewed.current()
    told.clear()
    replace(cert, pems.client.read_text() + "\n")
    assert renewed.current() is before
    assert "cannot be used: IndexError" in caplog.records[0].getMessage()


def test_files_that_cannot_be_used_at_first_are_an_error(tmp_path):
    with pytest.raises(KafkaConfigurationError):
        RenewedContext(TlsOptions(cafile=str(tmp_path / "nowhere.pem")))


def test_what_is_in_no_file_is_not_looked_at(pems):
    assert TlsOptions(cadata=pems.ca.read_text()).files() == ()
    context = ssl.create_default_context()
    assert TlsOptions(context=context, cafile="nowhere.pem").files() == ()
