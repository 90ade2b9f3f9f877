"""Where tokens come from: an endpoint that is asked seldom, or a provider of the user's."""

import asyncio
import contextlib
import shutil
import socketserver
import sys
import threading
import time
import types
from urllib.parse import urlsplit

import anyloop
import pytest
from anyloop import ASYNCIO, EACH_LOOP
from proxy_server import ProxyServer
from tls_front import authority, tls_to
from token_endpoint import TokenEndpoint

from kcore import AsyncConsumer, AsyncProducer, Consumer, ConsumerConfig
from kcore.actions import FetchToken
from kcore.clients.credentials import oidc
from kcore.clients.credentials import tokens as clients_tokens
from kcore.clients.credentials.grants import by_secret
from kcore.clients.credentials.oidc import Endpoint
from kcore.clients.credentials.tokens import AsideTokens, LoopTokens, Tokens, provider_of, tokens_of
from kcore.embedded import EmbeddedBroker
from kcore.errors import KafkaConfigurationError, SaslAuthenticationFailedError
from kcore.transports import NAMES
from kcore.transports.loops import here, ways_of

SECRET = "very-secret"


def by_me(url):
    return Endpoint(url, by_secret("me", SECRET, None, urlencode=False))


@pytest.fixture
def endpoint():
    with TokenEndpoint() as endpoint:
        endpoint.answer = (200, {"access_token": "one", "expires_in": 100}, {})
        yield endpoint


@pytest.fixture
def clock(monkeypatch):
    now = types.SimpleNamespace(s=1_000.0)
    monkeypatch.setattr(oidc.time, "monotonic", lambda: now.s)
    return now


def test_a_token_is_kept_for_four_fifths_of_its_time(endpoint, clock):
    tokens = by_me(endpoint.url)
    assert [tokens.token() for _ in range(3)] == ["one"] * 3
    clock.s += 79.9
    assert tokens.token() == "one"
    assert len(endpoint.asked) == 1
    endpoint.answer = (200, {"access_token": "two", "expires_in": "50"}, {})
    clock.s += 0.2
    assert tokens.token() == "two"


def test_a_machine_that_has_slept_asks_anew(endpoint, clock, monkeypatch):
    wall = time.time()
    monkeypatch.setattr(oidc.time, "time", lambda: wall)
    tokens = by_me(endpoint.url)
    assert tokens.token() == "one"
    wall -= 1_000  # set back: the other clock counts
    clock.s += 79
    assert tokens.token() == "one"
    endpoint.answer = (200, {"access_token": "two", "expires_in": 100}, {})
    wall += 1_081  # it has slept, and only this clock knows
    assert tokens.token() == "two"
    assert len(endpoint.asked) == 2


def test_the_old_one_is_used_to_its_end_if_there_is_no_other(endpoint, clock):
    tokens = by_me(endpoint.url)
    tokens.token()
    endpoint.answer = (503, b"later", {})
    clock.s += 99.9
    assert tokens.token() == "one"
    clock.s += 0.2
    with pytest.raises(SaslAuthenticationFailedError, match="503"):
        tokens.token()


def test_a_token_that_says_nothing_of_its_time_is_for_once(endpoint):
    endpoint.answer = (200, {"access_token": "one"}, {})
    tokens = by_me(endpoint.url)
    tokens.token()
    tokens.token()
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, {"error": "invalid_client"}, {}), "invalid_client"),
        ((200, b"not json", {}), "no JSON object"),
        ((200, [], {}), "no JSON object"),
        ((200, {}, {}), "no access_token"),
        ((200, {"access_token": ""}, {}), "no access_token"),
        ((200, {"access_token": "x", "expires_in": "soon"}, {}), "expires_in"),
        ((200, {"access_token": "x", "expires_in": float("nan")}, {}), "expires_in"),
        ((200, {"access_token": "x", "expires_in": float("inf")}, {}), "expires_in"),
        ((200, {"access_token": "x", "expires_in": 10**400}, {}), "expires_in"),
        ((200, b"[" * 100_000, {}), "no JSON object"),
        ((302, b"", {"Location": "http://127.0.0.1:1/"}), "302"),
        ((307, b"", {"Location": "http://127.0.0.1:1/"}), "307"),
        ((200, b"\xff" * 300_000, {}), "no JSON object"),
    ],
)
def test_answers_that_are_no_token(endpoint, answer, said):
    endpoint.answer = answer
    with pytest.raises(SaslAuthenticationFailedError, match=said) as caught:
        by_me(endpoint.url).token()
    assert endpoint.url in str(caught.value)
    assert SECRET not in str(caught.value)


NO_HTTP = [
    b"%s\r\n\r\n",  # in place of a status
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz%s\r\n",
    b"HTTP/1.1 403 %s\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 403 never %s\r\n\r\n",
]


@pytest.fixture
def garbled():
    """Where whoever asks gets `says[0]`."""
    says = [b""]

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            self.request.recv(65_536)
            self.wfile.write(says[0])

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/token", says
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("said", NO_HTTP, ids=["status", "chunks", "body", "reason"])
def test_answers_that_are_hardly_http(garbled, clock, said):
    url, says = garbled
    tokens = by_me(url)
    says[0] = b'HTTP/1.0 200 OK\r\n\r\n{"access_token": "one", "expires_in": 100}'
    assert tokens.token() == "one"
    says[0] = said % SECRET.encode()
    clock.s += 99.9
    assert tokens.token() == "one"  # it is good for a moment more
    clock.s += 0.2
    with pytest.raises(SaslAuthenticationFailedError, match="gave no token") as caught:
        tokens.token()
    assert SECRET not in str(caught.value)


def test_an_answer_that_drips_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(oidc, "_TIMEOUT_S", 0.2)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            self.request.recv(65_536)
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b" ")
                    time.sleep(0.02)

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        tokens = by_me(f"http://127.0.0.1:{server.server_address[1]}/token")
        with pytest.raises(SaslAuthenticationFailedError, match="does not come"):
            tokens.token()
        thread.join()


def test_while_there_is_none_nobody_asks_for_a_second(endpoint, clock):
    tokens = by_me(endpoint.url)
    endpoint.answer = (503, b"later", {})
    for _ in range(3):
        with pytest.raises(SaslAuthenticationFailedError, match="503"):
            tokens.token()
        clock.s += 0.3
    assert len(endpoint.asked) == 1
    endpoint.answer = (200, {"access_token": "one", "expires_in": 100}, {})
    clock.s += 0.2
    assert tokens.token() == "one"


def test_who_waits_for_the_same_answer_has_it_too(endpoint):
    """Threads of a loop's executor are few: they are not to wait one after the other."""
    go, said = threading.Event(), []

    def answer(_who, _form):
        go.wait(10)
        return 503, b"later", {}

    endpoint.answer = answer
    tokens = by_me(endpoint.url)

    def ask():
        with pytest.raises(SaslAuthenticationFailedError, match="503") as caught:
            tokens.token()
        said.append(caught.value)

    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join()
    assert len(endpoint.asked) == 1
    assert len({id(error) for error in said}) == 5  # each raises one of its own


@contextlib.contextmanager
def behind_tls(endpoint):
    """The endpoint's address by https."""
    port = urlsplit(endpoint.url).port
    with ProxyServer(talk=tls_to("127.0.0.1", port)) as front:
        yield f"https://127.0.0.1:{front.port}/token"


def of_oidc(url, **options):
    return ConsumerConfig.from_options(
        {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauthbearer_token_endpoint_url": url,
            "sasl_oauthbearer_client_credentials_client_id": "me",
            "sasl_oauthbearer_client_credentials_client_secret": SECRET,
            **options,
        }
    )


def test_an_endpoint_is_trusted_by_authorities_of_its_own(endpoint, tmp_path):
    cafile = tmp_path / "ca.pem"
    shutil.copy(authority().cafile, cafile)
    with behind_tls(endpoint) as url:
        provider = provider_of(of_oidc(url, sasl_oauthbearer_ssl_cafile=str(cafile)))
        assert provider.token() == "one"
        endpoint.answer = (200, {"access_token": "two"}, {})
        provider._lasts_s = 0.0
        cafile.write_text("no certificate")
        with pytest.raises(SaslAuthenticationFailedError, match="sasl_oauthbearer_ssl_cafile="):
            provider.token()
        provider._quiet_until = 0.0
        shutil.copy(authority().cafile, cafile)  # it is renewed
        assert provider.token() == "two"


def test_an_endpoint_is_trusted_by_authorities_that_are_given_as_text(endpoint):
    with open(authority().cafile) as file:
        text = file.read()
    with behind_tls(endpoint) as url:
        given = of_oidc(url, https_ca_pem=text)
        assert given.sasl_oauthbearer_ssl_cadata == text
        assert provider_of(given).token() == "one"
    assert "CERTIFICATE" not in repr(given)
    with pytest.raises(KafkaConfigurationError, match="sasl_oauthbearer_ssl_cadata") as caught:
        provider_of(of_oidc("https://id.example", sasl_oauthbearer_ssl_cadata="no certificate"))
    assert caught.value.option == "sasl_oauthbearer_ssl_cadata"


def test_an_endpoint_that_is_not_trusted_is_said_with_what_to_do(endpoint):
    with behind_tls(endpoint) as url:
        provider = provider_of(of_oidc(url))
        with pytest.raises(SaslAuthenticationFailedError, match="sasl_oauthbearer_ssl_cafile"):
            provider.token()
    assert endpoint.asked == []


def test_authorities_that_cannot_be_read_are_said_at_once(tmp_path):
    given = of_oidc("https://id.example", sasl_oauthbearer_ssl_cafile=str(tmp_path / "none.pem"))
    with pytest.raises(KafkaConfigurationError, match="sasl_oauthbearer_ssl_cafile=") as caught:
        provider_of(given)
    assert caught.value.option == "sasl_oauthbearer_ssl_cafile"


def test_nobody_there():
    with pytest.raises(SaslAuthenticationFailedError, match="refused"):
        by_me("http://127.0.0.1:1/").token()
    assert SECRET not in repr(by_me("http://127.0.0.1:1/"))


# Silent endpoints ---------------------------------------------------------------------------------


@pytest.fixture
def slow(endpoint):
    """Options of clients whose endpoint says nothing before `go`; a broker that takes its token."""
    go, answered = threading.Event(), []

    def answer(_who, _form):
        go.wait(10)
        answered.append(go.is_set())
        return 200, {"access_token": "good", "expires_in": 100}, {}

    endpoint.answer = answer

    def judge(token):
        assert token == "good"
        return "me", None

    with EmbeddedBroker(
        security_protocol="SASL_PLAINTEXT",
        sasl_enabled_mechanisms="OAUTHBEARER",
        sasl_oauth_token_validator=judge,
    ) as broker:
        broker.create_topic("t", 1)
        names = ("client_id", "client_secret")
        options = {f"sasl_oauthbearer_client_credentials_{each}": SECRET for each in names}
        options |= {
            "bootstrap_servers": broker.bootstrap,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauthbearer_token_endpoint_url": endpoint.url,
            "auto_offset_reset": "earliest",
        }
        try:
            yield options, go, broker, answered
        finally:
            go.set()


@pytest.mark.parametrize("transport", NAMES)
def test_a_poll_is_over_before_a_silent_endpoint_is(slow, transport):
    options, go, broker, answered = slow
    with Consumer(api_version=(4, 0), transport=transport, **options) as consumer:
        consumer.assign([("t", 0)])
        for _ in range(2):
            assert consumer.poll(timeout_ms=50) == {}
        assert answered == []  # nobody has waited for that
        go.set()
        broker.produce("t", [(None, b"v")])
        while not consumer.poll(timeout_ms=100):
            pass


@EACH_LOOP
def test_a_loop_goes_on_while_an_endpoint_is_silent(slow):
    options, go, broker, answered = slow
    broker.produce("t", [(None, b"v")])

    async def main():
        async with anyloop.timeout(20):
            reader = AsyncConsumer("t", **options)
            starting = anyloop.create_task(reader.start())
            for _ in range(5):
                await anyloop.sleep(0.02)
            assert not starting.done()
            assert answered == []
            go.set()
            await starting
            assert (await reader.getone()).value == b"v"
            await reader.stop()

    anyloop.run(main())


def test_where_gevent_has_patched_sockets_a_greenlet_waits(monkeypatch):
    patched = types.SimpleNamespace(is_module_patched=lambda name: name == "socket")
    options = given("http://127.0.0.1:1/token")
    assert isinstance(tokens_of(options, Tokens), AsideTokens)
    monkeypatch.setitem(sys.modules, "gevent.monkey", patched)
    assert isinstance(tokens_of(options, Tokens), Tokens)


# Providers ----------------------------------------------------------------------------------------


class Provider:
    """Gives, or raises, what it is told to."""

    def __init__(self, token, extensions=None):
        self._token = token
        if extensions is not None:
            self.extensions = lambda: extensions

    def token(self):
        if isinstance(self._token, BaseException):
            raise self._token
        return self._token


class LoopProvider(Provider):
    async def token(self):
        await anyloop.sleep(0)
        return super().token()


def fail():
    """Nobody has to be woken: it is the pump's own thread."""
    pytest.fail("woken")


def driver(turn, closed=False):
    """What LoopTokens need of one, in the running loop."""
    loop = here()
    return types.SimpleNamespace(loop=loop, ways=ways_of(loop), closed=closed, turn=turn)


def asked(provider):
    """What the pump is told, once."""
    told = []
    Tokens(provider).ask(FetchToken(7), told.append, fail)
    return what_was(told)


def what_was(told):
    """The token, its extensions and why not, of the one answer."""
    (answer,) = told
    assert answer.link == 7
    return answer.token, answer.extensions, answer.why


@EACH_LOOP
@pytest.mark.parametrize("kind", [Provider, LoopProvider])
def test_what_providers_give_reaches_the_loop(kind):
    async def ask(provider):
        told = []
        tokens = LoopTokens(provider)
        turned = []
        tokens.driver = driver(lambda: turned.append(True))
        tokens.ask(FetchToken(7), told.append, fail)
        assert told == []  # never inside the call
        while not turned:
            await anyloop.sleep(0.001)
        assert not tokens._tasks
        return what_was(told)

    assert anyloop.run(ask(kind("abc", {"a": "b"}))) == ("abc", {"a": "b"}, "")
    token, _, why = anyloop.run(ask(kind(ValueError("locked"))))
    assert (token, why) == (None, "ValueError: locked")


def test_a_provider_is_not_asked_within_the_pumps_own_step():
    """As by asyncio.eager_task_factory (Python 3.12), which a loop may have: the answer makes a
    step of the pump.
    """

    async def main():
        loop, told, turned = asyncio.get_running_loop(), [], asyncio.Event()
        tokens = LoopTokens(LoopProvider("abc"))
        tokens.driver = driver(turned.set)
        loop.set_task_factory(lambda *_given, **_more: 1 / 0)
        tokens.ask(FetchToken(7), told.append, fail)
        loop.set_task_factory(None)
        await turned.wait()
        assert what_was(told) == ("abc", {}, "")

    asyncio.run(main())


@EACH_LOOP
@pytest.mark.parametrize("kind", [Provider, LoopProvider])
def test_a_loop_that_is_closed_hears_nothing(kind):
    async def main():
        told = []
        tokens = LoopTokens(kind("abc"))
        tokens.driver = driver(lambda: told.append("turn"), closed=True)
        tokens.ask(FetchToken(7), told.append, fail)
        for _ in range(5):
            await anyloop.sleep(0.01)
        tokens.ask(FetchToken(7), told.append, fail)
        tokens.close()
        await anyloop.sleep(0.05)
        assert told == []

    anyloop.run(main())


@EACH_LOOP
def test_a_provider_that_never_answers_is_not_asked_without_end(monkeypatch):
    monkeypatch.setattr(clients_tokens, "ASKED_MAX", 3)

    class Silent:
        async def token(self):
            await anyloop.sleep(60)

    async def main():
        told = []
        tokens = LoopTokens(Silent())
        tokens.driver = driver(fail)
        for link in range(5):
            tokens.ask(FetchToken(link), told.append, fail)
        await anyloop.sleep(0)
        assert [(one.link, one.token) for one in told] == [(3, None), (4, None)]
        assert "owes the answer to 3 questions" in told[0].why
        tokens.close()

    anyloop.run(main())


def test_whatever_a_provider_raises_in_its_thread_is_told():
    """Else nobody would hear of it, and its place among those under way would never be free."""

    class Cancelled:
        def token(self):
            raise asyncio.CancelledError("the program ends")

    tokens = AsideTokens(Cancelled())
    for _ in range(clients_tokens.ASKED_MAX + 1):
        told, woken = [], threading.Event()
        tokens.ask(FetchToken(7), told.append, woken.set)
        assert woken.wait(10)
        assert what_was(told) == (None, {}, "CancelledError: the program ends")


@ASYNCIO
@pytest.mark.parametrize("by_coroutine", [True, False])
def test_whatever_a_provider_raises_in_a_loop_is_told(each_loop, by_coroutine):
    """It waited for a task that was cancelled, and the connection for it until its time was up."""

    class Cancelled:
        def token(self):
            raise asyncio.CancelledError("somebody else's")

    class LoopCancelled(Cancelled):
        async def token(self):
            super().token()

    async def main():
        told, turned = [], []
        tokens = LoopTokens(LoopCancelled() if by_coroutine else Cancelled())
        tokens.driver = driver(lambda: turned.append(True))
        tokens.ask(FetchToken(7), told.append, fail)
        async with asyncio.timeout(10):
            while not turned:
                await asyncio.sleep(0.001)
        assert what_was(told) == (None, {}, "CancelledError: somebody else's")

    anyloop.run(main())


def test_what_providers_give():
    assert asked(Provider("abc")) == ("abc", {}, "")
    assert asked(Provider("abc", {"a": "b"})) == ("abc", {"a": "b"}, "")
    assert asked(Provider("abc", None)) == ("abc", {}, "")
    assert asked(Provider(ValueError("locked"))) == (None, {}, "ValueError: locked")
    gone = asyncio.CancelledError("mine")  # of a loop of its own; it ended whoever drove
    assert asked(Provider(gone)) == (None, {}, "CancelledError: mine")
    with pytest.raises(KeyboardInterrupt):
        asked(Provider(KeyboardInterrupt()))
    token, _, why = asked(Provider(b"secret-bytes"))
    assert token is None
    assert "bytes" in why
    assert "secret" not in why
    assert asked(Provider("abc", 3))[0] is None


def test_a_coroutine_is_for_event_loops_alone():
    options = {
        "api_version": (4, 1),
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": LoopProvider("abc"),
    }
    with pytest.raises(KafkaConfigurationError, match="AsyncConsumer"):
        Consumer(**options)
    for kind in (AsyncConsumer, AsyncProducer):
        assert kind(**options).config["sasl_mechanism"] == "OAUTHBEARER"


def given(url):
    names = ("client_id", "client_secret")
    client = {f"sasl_oauthbearer_client_credentials_{each}": SECRET for each in names}
    options = {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", **client}
    return ConsumerConfig.from_options(options | {"sasl_oauthbearer_token_endpoint_url": url})


@pytest.mark.parametrize("url", ["http://id.example/token", "http://10.0.0.1:8080/token"])
def test_a_secret_that_goes_unencrypted_is_said(caplog, url):
    provider_of(given(url))
    (said,) = caplog.messages
    assert "is no https" in said
    assert SECRET not in said


@pytest.mark.parametrize(
    "url",
    ["https://id.example/t", "http://127.0.0.1:1/t", "http://localhost/t", "http://[::1]:1/t"],
)
def test_one_that_stays_on_this_machine_or_is_encrypted_is_not(caplog, url):
    provider_of(given(url))
    assert caplog.messages == []
