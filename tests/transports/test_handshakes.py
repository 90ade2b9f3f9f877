"""What is said to proxies, as bytes: whole, byte by byte, cut everywhere, and what liars say."""

import base64
import random

import pytest
from longer import quickly

from kcore.errors import UsageError
from kcore.settings.proxies import Proxy
from kcore.transports.handshakes import TRANSITIONS, Said, State, start_handshake
from kcore.transports.http_connect import ANSWER_BYTES_MAX
from kcore.transports.sockets import ProxyFaultError, ProxyRefusedError
from kcore.transports.socks import REPLIES

BEHIND = b"\0\0\0\x04what the broker says"
V4 = b"\1\x7f\0\0\1\x23\x84"
V6 = b"\4" + bytes(15) + b"\1\x23\x84"
NAMED = b"\3\x09localhost\x23\x84"
GREETING, WITH_NAME = b"\5\1\0", b"\5\2\0\2"
ASKED = b"\5\1\0\3\x06broker\x23\x84"
LOGIN = b"\1\4user\4w0rd"


def socks(host="broker", port=9092, scheme="socks5h", **user):
    return start_handshake(Proxy(scheme, "p", 1080, **user), host, port)


def http(host="broker", port=9092, **user):
    return start_handshake(Proxy("http", "p", 8080, **user), host, port)


def known(make):
    return lambda *args: make(*args, username="user", password="w0rd")


def play(handshake, answers, size=1 << 20):
    """Feed it from one stream, at most `size` bytes at once. What it has said, and what is left."""
    stream, said = b"".join(answers), [handshake.take()]
    while handshake.wants and stream:
        count = min(handshake.wants, size, len(stream))
        handshake.feed(stream[:count])
        stream = stream[count:]
        said.append(handshake.take())
    return [part for part in said if part], stream


CONNECT = b"CONNECT broker:9092 HTTP/1.1\r\nHost: broker:9092\r\n"
BASIC = b"Proxy-Authorization: Basic " + base64.b64encode(b"user:w0rd") + b"\r\n"
# What is said, and what the proxy answers.
VECTORS = {
    "socks": (socks, [GREETING, ASKED], [b"\5\0", b"\5\0\0" + V4]),
    "socks, IPv6": (socks, [GREETING, ASKED], [b"\5\0", b"\5\0\0" + V6]),
    "socks, a name": (socks, [GREETING, ASKED], [b"\5\0", b"\5\0\0" + NAMED]),
    "socks, an empty name": (socks, [GREETING, ASKED], [b"\5\0", b"\5\0\0\3\0\0\0"]),
    "socks, the longest name": (
        socks,
        [GREETING, ASKED],
        [b"\5\0", b"\5\0\0\3\xff", b"n" * 255, b"\0\0"],
    ),
    "socks, reserved is not 0": (socks, [GREETING, ASKED], [b"\5\0", b"\5\0\7" + V4]),
    "socks, known": (
        known(socks),
        [WITH_NAME, LOGIN, ASKED],
        [b"\5\2", b"\1\0", b"\5\0\0" + V4],
    ),
    "socks, not asked": (known(socks), [WITH_NAME, ASKED], [b"\5\0", b"\5\0\0" + V4]),
    "http": (http, [CONNECT + b"\r\n"], [b"HTTP/1.1 200 Connection established\r\n\r\n"]),
    "http, known": (known(http), [CONNECT + BASIC + b"\r\n"], [b"HTTP/1.1 200 OK\r\n\r\n"]),
    "http, old": (http, [CONNECT + b"\r\n"], [b"HTTP/1.0 200 OK\r\nProxy-agent: x/1\r\n\r\n"]),
    "http, shortest": (http, [CONNECT + b"\r\n"], [b"HTTP/1.1 200\n\n"]),
    "http, bare line feeds": (http, [CONNECT + b"\r\n"], [b"HTTP/1.1 200 OK\nA: b\nC:\n\n"]),
    "http, CR in odd places": (http, [CONNECT + b"\r\n"], [b"HTTP/1.1 200 \r\r\nA:\r b\r\r\n\n"]),
    "http, another success": (http, [CONNECT + b"\r\n"], [b"HTTP/1.1 204 x\r\n\r\n"]),
    "http, a length that does not count": (
        http,
        [CONNECT + b"\r\n"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"],
    ),
    "http, interim": (
        http,
        [CONNECT + b"\r\n"],
        [
            b"HTTP/1.1 100 Continue\r\n\r\n",
            b"HTTP/1.1 102\n\n",
            b"HTTP/1.1 103 Early\r\nA: b\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
        ],
    ),
}


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("size", [1 << 20, 1, 2, 3, 5])
def test_vectors_in_any_pieces_with_what_comes_behind(name, size):
    make, says, answers = VECTORS[name]
    for behind in (b"", BEHIND, b"\n", b"\r\n\r\n"):
        handshake = make()
        said, left = play(handshake, [*answers, behind], size)
        assert said == says
        assert left == behind  # nothing of it was taken
        assert handshake.is_open
        assert handshake.wants == 0


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_cut_anywhere(name):
    make, says, answers = VECTORS[name]
    whole = b"".join(answers)
    for end in range(len(whole)):
        handshake = make()
        said, left = play(handshake, [whole[:end]])
        assert not left
        assert said == says[: len(said)]
        assert not handshake.is_open
        assert handshake.wants > 0
        assert end + handshake.wants <= len(whole)  # it never asks for what may not come
        hint = "closed the connection (before it|when it had heard the name and the password)"
        with pytest.raises(ProxyFaultError, match=hint):
            handshake.end()


@pytest.mark.parametrize("name", VECTORS)
def test_no_more_is_taken_than_is_wanted(name):
    handshake = VECTORS[name][0]()
    with pytest.raises(UsageError):
        handshake.feed(bytes(handshake.wants + 1))


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("broker", b"\3\6broker"),
        ("b-1.example_x.", b"\3\x0eb-1.example_x."),
        ("b\u00fccher.example", b"\3\x15xn--bcher-kva.example"),
        ("127.0.0.1", b"\1\x7f\0\0\1"),
        ("::1", b"\4" + bytes(15) + b"\1"),
        ("fe80::1%eth0", b"\4\xfe\x80" + bytes(13) + b"\1"),
        ("n" * 255, b"\3\xff" + b"n" * 255),
    ],
)
@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_addresses_in_socks(host, address, scheme):
    said, _ = play(socks(host, 65535, scheme), [b"\5\0"])
    assert said == [GREETING, b"\5\1\0" + address + b"\xff\xff"]


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("b-1.example", "b-1.example"),
        ("b\u00fccher.example", "xn--bcher-kva.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "[::1]"),
        ("fe80::1%eth0", "[fe80::1]"),
    ],
)
def test_addresses_in_http(host, shown):
    said = http(host, 1).take().decode()
    assert said == f"CONNECT {shown}:1 HTTP/1.1\r\nHost: {shown}:1\r\n\r\n"


@pytest.mark.parametrize("make", [socks, http])
@pytest.mark.parametrize(
    "host",
    [
        "",
        "a b",
        "a\r\nX: y",
        "a\n",
        "a/b",
        "a@b",
        "a:b",
        "::1\r\nX: y",
        "[::1]",
        "\ud800",
        "n" * 256,
        "a..\u00fc",
    ],
)
def test_hosts_that_are_none_are_not_asked_for(make, host):
    # A broker may name anything as the address of another one.
    with pytest.raises(ValueError):  # noqa: PT011 - the encoder's own among them
        make(host).take()


# Refusals and lies -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_every_reply_of_socks(size):
    for code in range(1, 256):
        handshake = socks()
        with pytest.raises(ProxyFaultError) as caught:
            play(handshake, [b"\5\0\5", bytes([code]), b"\0", V4], size)
        assert f"SOCKS reply {code})" in str(caught.value)
        assert REPLIES.get(code, "refused") in str(caught.value)
        assert not isinstance(caught.value, ProxyRefusedError)


def test_a_socks_proxy_that_says_no_more_than_why():
    """Some hang up behind the code."""
    with pytest.raises(ProxyFaultError, match=r"the broker refused the connection \(SOCKS reply 5"):
        play(socks(), [b"\5\0", b"\5\5"])


def test_a_socks_proxy_that_hangs_up_at_the_password():
    handshake = known(socks)()
    for heard, why in [
        (b"", "before it had answered"),
        (b"\5\2", "when it had heard the name and the password"),
        (b"\1", "when it had heard"),
        (b"\0", "before it had answered"),
    ]:
        play(handshake, [heard])
        with pytest.raises(ProxyFaultError, match=why):
            handshake.end()


@pytest.mark.parametrize(
    ("size", "step"), [(1, 9), (1 << 20, 1), pytest.param(1, 1, marks=pytest.mark.slow)]
)
def test_every_status_of_http(size, step):
    for code in sorted({101, 401, 407, *range(100, 1000, step)}):
        handshake = http()
        lines = b"HTTP/1.1 %d Some \x1b[31m words\r\nServer: x\r\n\r\n" % code
        if 200 <= code < 300:
            assert play(handshake, [lines, BEHIND], size)[1] == BEHIND
            assert handshake.is_open
        elif code in range(100, 200) and code != 101:
            assert play(handshake, [lines], size)[1] == b""
            assert not handshake.is_open
        else:
            with pytest.raises(ProxyFaultError) as caught:
                play(handshake, [lines], size)
            assert f"HTTP status {code})" in str(caught.value)
            assert "\x1b" not in str(caught.value)
            assert isinstance(caught.value, ProxyRefusedError) == (code in {401, 407})


@pytest.mark.parametrize(
    ("status", "said"),
    [(403, "says: forbidden"), (502, "says: bad gateway"), (599, "says: no")],
)
def test_a_status_is_told_in_words(status, said):
    with pytest.raises(ProxyFaultError, match=rf"{said} \(HTTP status {status}\)"):
        play(http(), [b"HTTP/1.1 %d x\r\n\r\n" % status])


@pytest.mark.parametrize(
    ("make", "answers", "said"),
    [
        (socks, [b"\5\xff"], "wants a name and a password: give them in proxy_url"),
        (socks, [b"\5\2"], "wants a name and a password: give them in proxy_url"),
        (known(socks), [b"\5\xff"], "another way of authenticating"),
        (known(socks), [b"\5\2", b"\1\1"], "refused the name and the password"),
        (known(socks), [b"\5\2", b"\1\xff"], "refused the name and the password"),
        (http, [b"HTTP/1.1 407 x\r\n\r\n"], "wants a name and a password: give them in proxy_url"),
        (known(http), [b"HTTP/1.1 407 x\r\n\r\n"], "refused the name and the password"),
        (
            known(http),
            [b'HTTP/1.1 407 x\r\nProxy-Authenticate: Basic realm="r"\r\n\r\n'],
            "refused the name and the password",
        ),
        (
            known(http),
            [b'HTTP/1.0 401 Unauthorized\r\nWWW-Authenticate: Basic realm="tinyproxy"\r\n\r\n'],
            r"refused the name and the password \(HTTP status 401\)",
        ),
        (
            known(http),
            [b"HTTP/1.1 407\nPROXY-authenticate:Negotiate\nProxy-Authenticate: NTLM x\n\n"],
            "wants to authenticate by negotiate, ntlm; only 'basic'",
        ),
        (
            known(http),
            [b"HTTP/1.1 407\nProxy-Authenticate: Negotiate, NTLM ,Basic realm=x\n\n"],
            "refused the name and the password",
        ),
        (
            http,
            [b'HTTP/1.1 407\nProxy-Authenticate: Digest realm="a, \\"b, c", n = "1", Basic\n\n'],
            "wants a name and a password: give them in proxy_url",
        ),
        (
            known(http),
            [
                b"HTTP/1.1 407\r\nProxy-Authenticate: Negotiate YI+/a==, , ",
                b'Digest\trealm="x, Basic", n=1\r\nProxy-Authenticate:\r\n',
                b"Proxy-Authenticate: negotiate\r\n\r\n",
            ],
            "wants to authenticate by negotiate, digest; only 'basic'",
        ),
    ],
)
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_who_is_not_taken(make, answers, said, size):
    with pytest.raises(ProxyRefusedError, match=said) as caught:
        play(make(), answers, size)
    assert "w0rd" not in repr(caught.value)


def test_a_refusal_that_is_cut_is_one_all_the_same():
    handshake = known(http)()
    play(handshake, [b"HTTP/1.1 407 x\r\nProxy-Authenticate: NTLM\r\nConte"])
    with pytest.raises(ProxyRefusedError, match="ntlm"):
        handshake.end()


@pytest.mark.parametrize(
    ("make", "answers", "said"),
    [
        (socks, [b"\4"], "does not speak SOCKS5"),
        (socks, [b"\0\x5a"], "does not speak SOCKS5"),
        (socks, [b"HTTP/1.1 400 Bad Request\r\n"], "is it an http:// proxy"),
        (socks, [b"\5\3"], "a method that was not offered"),
        (socks, [b"\5\1"], "a method that was not offered"),
        (known(socks), [b"\5\2", b"\5\0"], "does not speak SOCKS5"),
        (socks, [b"\5\0", b"\4\0"], "does not speak SOCKS5"),
        (socks, [b"\5\0", b"\5\0\0\0\0"], "unknown kind of address"),
        (socks, [b"\5\0", b"\5\0\0\2\0"], "unknown kind of address"),
        (http, [b"\5\xff"], "is it a SOCKS proxy"),
        (http, [b"\x15\3\1\0\2\2"], "is it an https:// proxy"),
        (http, [b"\0\0\0\x2a"], "does not speak HTTP"),
        (http, [b"SSH-2.0-x\r\n"], "does not speak HTTP"),
        (http, [b"HTTQ"], "does not speak HTTP"),
        (http, [b"HTTP/2 200 OK\r\n\r\n  "], "does not begin with a status"),
        (http, [b"HTTP/1.1 2000 OK\r\n\r\n"], "does not begin with a status"),
        (http, [b"HTTP/1.1 20\r\n\r\n  "], "does not begin with a status"),
        (http, [b"HTTP/1.1 099 OK\r\n\r\n"], "does not begin with a status"),
        (http, [b"HTTP/1.1200 OK OK\r\n\r\n"], "does not begin with a status"),
        (http, [b"HTTP/\n\n\n\n\n\n\n\n\n\n\n\n"], "does not begin with a status"),
    ],
)
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_liars(make, answers, said, size):
    with pytest.raises(ProxyFaultError, match=said) as caught:
        play(make(), answers, size)
    assert not isinstance(caught.value, ProxyRefusedError)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 " + b"x" * ANSWER_BYTES_MAX,
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * ANSWER_BYTES_MAX,
        b"HTTP/1.1 407 OK\r\n" + b"a: b\r\n" * ANSWER_BYTES_MAX,
        b"HTTP/1.1 100 OK\r\n\r\n" * ANSWER_BYTES_MAX,
    ],
)
def test_an_answer_without_an_end_is_not_read_for_ever(answer):
    handshake = http()
    with pytest.raises(ProxyFaultError, match="does not end within 16384 bytes"):
        play(handshake, [answer])


@pytest.mark.parametrize("block", quickly(1, of=4))
def test_noise_ends_in_one_of_three_ways(block):
    for seed in range(500 * block, 500 * (block + 1)):
        rng = random.Random(seed)
        make = rng.choice([socks, known(socks), http, known(http)])
        answers = rng.choice(list(VECTORS.values()))[2]
        stream = bytearray(b"".join(answers) + BEHIND)
        for _ in range(rng.randrange(1, 4)):
            stream[rng.randrange(len(stream))] = rng.randrange(256)
        handshake = make()
        try:
            _, left = play(handshake, [bytes(stream)], rng.randrange(1, 30))
        except ProxyFaultError:
            continue
        assert handshake.is_open or not left


# The table ---------------------------------------------------------------------------------------


def test_every_state_leads_on_or_is_an_end():
    assert set(TRANSITIONS) == set(State)
    assert {said for moves in TRANSITIONS.values() for said in moves} == set(Said)
    ends = {state for state, moves in TRANSITIONS.items() if not moves}
    assert ends == {State.REFUSED, State.OPEN}
    reached, ahead = set(), {State.OFFERED, State.ASKED}
    while ahead:
        reached |= ahead
        ahead = {to for state in ahead for to in TRANSITIONS[state].values()} - reached
    assert reached == set(State)
