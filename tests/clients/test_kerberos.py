"""What calls GSSAPI for a core: the library itself, with a KDC, and an acceptor in this process."""

import queue
import sys
import threading
import time

import pytest
from kdc import REALM, Kdc, missing

from kcore import Admin, AsyncProducer, Consumer, ConsumerConfig
from kcore.actions import CallGssapi, GssapiCall
from kcore.clients.credentials import kerberos
from kcore.clients.credentials.kerberos import Kerberos
from kcore.connection.gssapi import Gssapi
from kcore.connection.sasl import Outside
from kcore.errors import KafkaConfigurationError, SaslAuthenticationFailedError
from kcore.transports.inputs import Called

STEP, UNWRAP, WRAP = GssapiCall
HOST = "broker.kcore.test"
SERVICE = f"kafka/{HOST}"
GSSAPI = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "GSSAPI"}

needs_kdc = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(scope="module")
def realm():
    with Kdc() as kdc:
        kdc.add(SERVICE)
        kdc.add("alice")
        kdc.add("bob")
        kdc.add("brief", "1 second")
        yield kdc


@pytest.fixture
def kdc(realm, monkeypatch):
    for name, value in realm.environment.items():
        monkeypatch.setenv(name, value)
    realm.cache.unlink(missing_ok=True)
    return realm


def given(**options):
    return ConsumerConfig.from_options({**GSSAPI, **options})


def by_keytab(kdc, who="alice", **options):
    return given(sasl_kerberos_keytab=kdc.keytab(who), **options)


class Acceptor:
    """The broker's side of one exchange (RFC 4752 3.2)."""

    def __init__(self, kdc, offer=b"\1\0\0\0"):
        import gssapi  # noqa: PLC0415 - an extra

        credentials = gssapi.Credentials(
            usage="accept", store={"keytab": f"FILE:{kdc.keytab(SERVICE)}"}
        )
        self.context = gssapi.SecurityContext(creds=credentials, usage="accept")
        self.offer = offer
        self.offered = False
        self.choice = None

    def answer(self, token):
        if not self.context.complete:
            return self.context.step(token)
        if not self.offered:
            self.offered = True
            assert token == b""
            return self.context.wrap(self.offer, False).message
        self.choice = self.context.unwrap(token).message
        return b""


def call(source, action):
    """What comes of it, in whichever thread."""
    found, woken = queue.SimpleQueue(), threading.Event()
    source.ask(action, found.put, woken.set)
    answer = found.get(timeout=20)
    assert woken.wait(20)
    assert type(answer) is Called
    assert answer.link == 7
    return answer


def authenticate(source, acceptor, host=HOST):
    """A whole exchange between the core's machine and an acceptor: for whom it takes us."""
    mechanism = Gssapi(None, None)
    said = mechanism.first()
    while said is not None:
        if isinstance(said, Outside):
            answer = call(source, CallGssapi(7, host, said.call, said.data, said.context))
            if answer.result is None:
                raise SaslAuthenticationFailedError(answer.why)
            said = mechanism.take(answer.result, answer.context, complete=answer.complete)
        else:
            said = mechanism.step(acceptor.answer(said))
    return str(acceptor.context.initiator_name)


@needs_kdc
def test_tickets_of_a_cache(kdc):
    source = Kerberos(given())
    with pytest.raises(SaslAuthenticationFailedError, match=r"GSS_Init_sec_context.*kinit"):
        authenticate(source, Acceptor(kdc))
    kdc.kinit("alice")  # it is looked into anew
    acceptor = Acceptor(kdc)
    assert authenticate(source, acceptor) == f"alice@{REALM}"
    assert acceptor.choice == b"\1\0\0\0"
    source = Kerberos(given(sasl_kerberos_principal="bob"))
    with pytest.raises(SaslAuthenticationFailedError, match="bob"):
        authenticate(source, Acceptor(kdc))


@needs_kdc
@pytest.mark.parametrize("principal", [None, "alice", f"alice@{REALM}"])
def test_tickets_by_a_keytab(kdc, principal):
    source = Kerberos(by_keytab(kdc, sasl_kerberos_principal=principal))
    assert authenticate(source, Acceptor(kdc)) == f"alice@{REALM}"
    assert not kdc.cache.exists()


@needs_kdc
def test_tickets_by_the_systems_own_keytab(kdc, monkeypatch):
    """Of clients, which MIT's library takes where the cache has nothing."""
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", f"FILE:{kdc.keytab('bob')}")
    assert authenticate(Kerberos(given()), Acceptor(kdc)) == f"bob@{REALM}"
    assert kdc.cache.exists()


@needs_kdc
@pytest.mark.slow
def test_tickets_by_a_keytab_are_renewed(kdc):
    source = Kerberos(by_keytab(kdc, "brief"))
    for _ in range(4):
        assert authenticate(source, Acceptor(kdc)) == f"brief@{REALM}"
        time.sleep(2.1)


@needs_kdc
@pytest.mark.parametrize(
    "who",
    [
        {"sasl_kerberos_name": f"kafka@{HOST}"},
        {"sasl_kerberos_name": f"{SERVICE}@{REALM}"},
        {"sasl_kerberos_domain_name": HOST},
    ],
)
def test_brokers_under_another_name(kdc, who):
    source = Kerberos(by_keytab(kdc, **who))
    assert authenticate(source, Acceptor(kdc), "10.0.0.1") == f"alice@{REALM}"


@needs_kdc
def test_a_name_made_by_the_library(kdc):
    import gssapi  # noqa: PLC0415

    name = gssapi.Name(f"kafka@{HOST}", gssapi.NameType.hostbased_service)
    assert authenticate(Kerberos(by_keytab(kdc, sasl_kerberos_name=name)), Acceptor(kdc), "x")


@needs_kdc
@pytest.mark.parametrize(
    ("who", "options", "said"),
    [
        ("alice", {"sasl_kerberos_service_name": "kafak"}, "kafak/.*not found.*service_name"),
        ("bob", {"sasl_kerberos_principal": "alice"}, "keytab has keys of sasl_kerberos_principal"),
        ("alice", {"sasl_kerberos_principal": "a@NO.WHERE"}, "sasl_kerberos_principal"),
    ],
)
def test_what_cannot_be(kdc, who, options, said):
    with pytest.raises(SaslAuthenticationFailedError, match=said):
        authenticate(Kerberos(by_keytab(kdc, who, **options)), Acceptor(kdc))


@needs_kdc
@pytest.mark.slow
def test_a_cache_that_is_over(kdc):
    kdc.kinit("brief")
    time.sleep(2.2)
    with pytest.raises(SaslAuthenticationFailedError, match=r"xpired.*get a new ticket \(kinit\)"):
        authenticate(Kerberos(given()), Acceptor(kdc))


@needs_kdc
@pytest.mark.slow
def test_tickets_by_a_keytab_that_could_not_be_renewed():
    with Kdc() as kdc, pytest.MonkeyPatch.context() as patch:
        for name, value in kdc.environment.items():
            patch.setenv(name, value)
        kdc.add(SERVICE)
        kdc.add("brief", "1 second")
        source = Kerberos(by_keytab(kdc, "brief"))
        assert authenticate(source, Acceptor(kdc)) == f"brief@{REALM}"
        kdc.stop()
        time.sleep(2.2)
        with pytest.raises(SaslAuthenticationFailedError, match="check that the KDC runs"):
            authenticate(source, Acceptor(kdc))


@needs_kdc
def test_keys_that_were_changed_and_a_kdc_that_is_gone():
    with Kdc() as kdc, pytest.MonkeyPatch.context() as patch:
        for name, value in kdc.environment.items():
            patch.setenv(name, value)
        kdc.add("alice")
        settings = by_keytab(kdc)
        kdc.kadmin("cpw -randkey alice")
        answer = call(Kerberos(settings), CallGssapi(7, HOST, STEP, b""))
        assert "export it anew" in answer.why
        kdc.stop()
        answer = call(Kerberos(settings), CallGssapi(7, HOST, STEP, b""))
        assert "check that the KDC runs" in answer.why


@needs_kdc
@pytest.mark.parametrize("token", [b"nonsense", b"\x60\x03abc", bytes(1000)])
def test_brokers_that_answer_nonsense(kdc, token):
    source = Kerberos(by_keytab(kdc))
    begun = call(source, CallGssapi(7, HOST, STEP, b""))
    answer = call(source, CallGssapi(7, HOST, STEP, token, begun.context))
    assert answer.result is None
    assert "GSS_Init_sec_context failed" in answer.why
    for unready in (UNWRAP, WRAP):
        answer = call(source, CallGssapi(7, HOST, unready, token, begun.context))
        assert answer.result is None
        assert f"{unready.value} failed" in answer.why


@needs_kdc
def test_an_impostor_is_not_believed(kdc):
    """Somebody who has not the service's key cannot answer; nor can the answer to another."""
    source = Kerberos(by_keytab(kdc))
    one, other = (call(source, CallGssapi(7, HOST, STEP, b"")) for _ in range(2))
    reply = Acceptor(kdc).answer(other.result)
    answer = call(source, CallGssapi(7, HOST, STEP, reply, one.context))
    assert answer.result is None
    assert not answer.complete


@needs_kdc
def test_a_layer_message_that_was_touched(kdc):
    source, acceptor = Kerberos(by_keytab(kdc)), Acceptor(kdc)
    begun = call(source, CallGssapi(7, HOST, STEP, b""))
    done = call(source, CallGssapi(7, HOST, STEP, acceptor.answer(begun.result), begun.context))
    assert (done.result, done.complete) == (b"", True)
    offer = bytearray(acceptor.answer(b""))
    offer[-1] ^= 1
    answer = call(source, CallGssapi(7, HOST, UNWRAP, bytes(offer), done.context))
    assert answer.result is None


@needs_kdc
def test_many_at_once(kdc):
    """Renewals of the one cache in memory among them."""
    sources = [Kerberos(by_keytab(kdc, "brief")) for _ in range(4)]
    found = queue.SimpleQueue()
    for number in range(40):
        sources[number % 4].ask(CallGssapi(7, HOST, STEP, b""), found.put, lambda: None)
        time.sleep(0.01)
    assert [why for *_, why in (found.get(timeout=20) for _ in range(40)) if why] == []


# Without a KDC ------------------------------------------------------------------------------------


class Library:
    """Stands in for gssapi: its calls wait until they are let go."""

    def __init__(self):
        self.go = threading.Event()
        self.RequirementFlag = self.MechType = self.NameType = self.exceptions = self
        self.mutual_authentication = self.integrity = 0
        self.kerberos = self.hostbased_service = None
        self.GSSError = ArithmeticError

    def Name(self, name, kind):  # noqa: N802
        return name

    def SecurityContext(self, **_options):  # noqa: N802
        self.go.wait(20)
        raise ValueError("let go")


@pytest.fixture
def library(monkeypatch):
    library = Library()
    monkeypatch.setitem(sys.modules, "gssapi", library)
    yield library
    library.go.set()


def test_calls_that_never_come_back_are_counted(library, monkeypatch):
    monkeypatch.setattr(kerberos, "CALLS_MAX", 8)
    source, found = Kerberos(given()), queue.SimpleQueue()
    for _ in range(kerberos.CALLS_MAX):
        source.ask(CallGssapi(7, HOST, STEP, b""), found.put, lambda: None)
    assert found.empty()
    source.ask(CallGssapi(8, HOST, STEP, b""), found.put, lambda: None)
    refused = found.get(timeout=20)
    assert (refused.link, refused.result) == (8, None)
    assert "have not come back" in refused.why
    library.go.set()
    for _ in range(kerberos.CALLS_MAX):
        assert "ValueError: let go" in found.get(timeout=20).why
    assert "let go" in call(source, CallGssapi(7, HOST, STEP, b"")).why


def test_who_has_closed_is_told_nothing(library, monkeypatch):
    ended = threading.Semaphore(0)
    real = Kerberos._call
    monkeypatch.setattr(Kerberos, "_call", lambda *given: (real(*given), ended.release())[0])
    source, told = Kerberos(given()), []
    source.ask(CallGssapi(7, HOST, STEP, b""), told.append, lambda: told.append("woken"))
    source.close()
    library.go.set()
    assert ended.acquire(timeout=20)
    while source._aside.under_way:
        time.sleep(0.001)
    assert told == []


def test_who_closes_while_being_told_is_not_waited_for(library):
    """As the garbage collector does that finds a client in that moment."""
    source, over = Kerberos(given()), threading.Event()
    source.ask(CallGssapi(7, HOST, STEP, b""), lambda _: source.close(), over.set)
    library.go.set()
    assert over.wait(20)


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "gssapi", None)
    for kind in (Consumer, Admin, AsyncProducer):
        with pytest.raises(KafkaConfigurationError, match=r"install 'kcore\[kerberos\]'") as caught:
            kind(**GSSAPI)
        assert caught.value.option == "sasl_mechanism"


def test_keytabs_that_are_none(library, tmp_path):
    with pytest.raises(KafkaConfigurationError, match="cannot be read: No such file"):
        Kerberos(given(sasl_kerberos_keytab=tmp_path / "none"))
    (tmp_path / "text").write_text("principal=me")
    with pytest.raises(KafkaConfigurationError, match="is no keytab"):
        Kerberos(given(sasl_kerberos_keytab=tmp_path / "text"))
