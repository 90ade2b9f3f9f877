"""What a stranger may send to a port that wants SASL: frames in a row, and what came of each.

A scenario is a list of frames; `play` gives what the broker answered to each, and how the
connection ended: "open", "closed" (at once) or "turned away" (later, so that guessing takes time).
"""

import base64
import hashlib
import hmac
import json
import socket
import struct
import time

from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey

USER, PASSWORD = "alice", "alice-secret"
WAIT_S = 5.0
LATE_S = 0.08  # of the 100 ms after which a Kafka turns somebody away
OPEN_S = 0.25


class Sent:
    """A request; or bytes that are none. answer: what its answer is of; None: bytes too."""

    def __init__(self, data, answer=None, version=0):
        self.data, self.answer, self.version = data, answer, version


def ask(message, version=None, *, raw_version=None):
    key = ApiKey(message.API_KEY)
    version = API_TABLE[key].max_version if version is None else version
    data = frames.encode_request(message, version, 7, "scenario")
    if raw_version is not None:
        data = data[:6] + struct.pack(">h", raw_version) + data[8:]
        version = 0
    return Sent(data, API_TABLE[key].response, version)


def bare(data):
    return Sent(len(data).to_bytes(4, "big") + data)


def versions(version=3, name="kcore", meant=(), **more):
    told = {"client_software_name": name, "client_software_version": "1"} if version >= 3 else {}
    told |= dict(zip(("cluster_id", "node_id"), meant, strict=False))
    return ask(m.ApiVersionsRequest(**told), version, **more)


def handshake(mechanism="PLAIN", version=1, **more):
    return ask(m.SaslHandshakeRequest(mechanism=mechanism), version, **more)


def step(data, version=2, **more):
    return ask(m.SaslAuthenticateRequest(auth_bytes=data), version, **more)


def metadata():
    return ask(m.MetadataRequest(topics=None), 9)


def plain(user=USER, password=PASSWORD, wanted=""):
    return f"{wanted}\0{user}\0{password}".encode()


def unsigned(subject=USER, lasts_s=600.0, issued_s=0.0, **header):
    now = time.time()
    claims = {"sub": subject, "iat": now + issued_s, "exp": now + lasts_s}
    parts = (json.dumps(part).encode() for part in ({"alg": "none"} | header, claims))
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."


def bearer(token, wanted="", more=""):
    return f"n,{wanted and 'a=' + wanted},\1auth=Bearer {token}\1{more}\1".encode()


class Scram:
    """A client's side, by hand: what it says can be spoilt."""

    def __init__(self, hash_name, user=USER, password=PASSWORD):
        self.name, self.user, self.password = hash_name, user, password
        self.bare = f"n={user},r=nonce"

    def final(self, challenge, *, binding="biws", password=None, nonce=None, more=""):
        parts = dict(part.split("=", 1) for part in challenge.decode().split(","))
        salted = hashlib.pbkdf2_hmac(
            self.name,
            (password or self.password).encode(),
            base64.b64decode(parts["s"]),
            int(parts["i"]),
        )
        unproven = f"c={binding},r={nonce or parts['r']}{more}"
        signed = f"{self.bare},{challenge.decode()},{unproven}".encode()
        key = hmac.digest(salted, b"Client Key", self.name)
        signature = hmac.digest(hashlib.new(self.name, key).digest(), signed, self.name)
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        return f"{unproven},p={base64.b64encode(proof).decode()}".encode()


def proven(hash_name="sha256", first="n,,", wrap=step, **spoilt):
    """The two messages of SCRAM; the second one is made of the answer to the first."""
    scram = Scram(hash_name)
    return [
        wrap(f"{first}{scram.bare}".encode()),
        lambda challenge: wrap(scram.final(challenge, **spoilt)),
    ]


def sent_after(answer, make):
    challenge = answer if isinstance(answer, bytes) else answer.auth_bytes
    return make(bytes(challenge))


# What is sent to the listener SASL unless the name says SHORT (sessions end) or BEARER.
SCENARIOS = {
    # In their order
    "plain": [versions(), handshake(), step(plain()), metadata()],
    "without ApiVersions": [handshake(), step(plain()), metadata()],
    "ApiVersions twice": [versions(), versions()],
    "an ApiVersions of another time": [versions(raw_version=99), versions(), handshake()],
    "the name of no client": [versions(name="-x"), versions(), handshake()],
    "ApiVersions of another time behind a good one": [versions(), versions(raw_version=99)],
    "ApiVersions behind the handshake": [handshake(), versions()],
    "an old ApiVersions behind the handshake": [handshake(), versions(0)],
    "ApiVersions of another time behind the handshake": [handshake(), versions(raw_version=99)],
    "ApiVersions when known": [handshake(), step(plain()), versions(), metadata()],
    "ApiVersions for somebody else": [
        versions(5, meant=("another", 7)), handshake(), step(plain()), metadata(),
        versions(5, meant=("another", 7)), versions(5, meant=("another",)), metadata(),
    ],
    "ApiVersions for nobody": [versions(5, meant=("another",)), handshake()],
    "handshake twice": [handshake(), handshake()],
    "handshake when known": [handshake(), step(plain()), handshake(), metadata()],
    "handshake when known, of nothing": [handshake(), step(plain()), handshake("NOPE")],
    "step when known": [handshake(), step(plain()), step(plain()), metadata()],
    "step first": [step(plain())],
    "step behind ApiVersions": [versions(), step(plain())],
    "something else first": [metadata()],
    "something else behind ApiVersions": [versions(), metadata()],
    "something else behind the handshake": [handshake(), metadata()],
    "produce behind the handshake": [handshake(), ask(m.ProduceRequest(acks=1), 9)],
    "find behind the handshake": [
        handshake(), ask(m.FindCoordinatorRequest(coordinator_keys=["g"]), 4),
    ],
    "fetch behind the handshake": [handshake(), ask(m.FetchRequest(), 12)],
    "describe behind the handshake": [
        handshake(), ask(m.DescribeGroupsRequest(groups=["g"]), 5),
    ],
    # Versions
    "handshake of another time": [handshake(raw_version=5)],
    "step of another time": [handshake(), step(plain(), raw_version=9)],
    "step v0": [handshake(), step(plain(), 0)],
    "step v1": [handshake(), step(plain(), 1)],
    # Mechanisms
    "no such mechanism": [versions(), handshake("NOPE")],
    "a mechanism of another listener": [handshake("OAUTHBEARER")],
    "a mechanism in small letters": [handshake("plain")],
    "no mechanism": [handshake("")],
    "no such mechanism, v0": [handshake("NOPE", 0)],
    # Bare tokens
    "bare plain": [handshake(version=0), bare(plain()), metadata()],
    "bare plain, wrong": [handshake(version=0), bare(plain(password="x"))],
    "bare plain, nonsense": [handshake(version=0), bare(b"x")],
    "a step where a bare token is due": [handshake(version=0), step(plain())],
    "bare scram": [handshake("SCRAM-SHA-256", 0), *proven(wrap=bare), metadata()],
    "bare scram, nonsense": [handshake("SCRAM-SHA-256", 0), bare(b"x")],
    "bare scram, wrong": [handshake("SCRAM-SHA-256", 0), *proven(wrap=bare, password="x")],
    # No requests
    "empty": [bare(b"")],
    "short": [bare(b"\0")],
    "no API": [bare(struct.pack(">hhi", 999, 0, 1) + b"\xff\xff")],
    "a header that ends": [bare(struct.pack(">hh", 17, 1))],
    "a body that ends": [bare(struct.pack(">hhih", 17, 1, 1, -1) + b"\0\x09a")],
    "no request behind the handshake": [handshake(), bare(b"\x01")],
    "no API behind the handshake": [handshake(), bare(struct.pack(">hhih", 999, 0, 1, -1))],
    "too large": [Sent(struct.pack(">i", 524_289))],
    "too large behind the handshake": [handshake(), Sent(struct.pack(">i", 524_289))],
    "far too large": [Sent(struct.pack(">i", 0x7FFFFFFF))],
    "negative": [Sent(struct.pack(">i", -1))],
    "negative when known": [handshake(), step(plain()), Sent(struct.pack(">i", -1))],
    "TLS": [Sent(bytes.fromhex("16030100c8010000c40303") + bytes(64))],
    "HTTP": [Sent(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")],
    # PLAIN
    "plain, wrong password": [handshake(), step(plain(password="x"))],
    "plain, no such user": [handshake(), step(plain("nobody"))],
    "plain, wrong password, v0": [handshake(), step(plain(password="x"), 0)],
    "plain, no user": [handshake(), step(plain(""))],
    "plain, no password": [handshake(), step(plain(password=""))],
    "plain, nothing": [handshake(), step(b"")],
    "plain, two parts": [handshake(), step(b"alice\0alice-secret")],
    "plain, four parts": [handshake(), step(plain() + b"\0x")],
    "plain, five parts": [handshake(), step(plain() + b"\0x\0y")],
    "plain, as oneself": [handshake(), step(plain(wanted=USER)), metadata()],
    "plain, as another": [handshake(), step(plain(wanted="bob"))],
    "plain, no UTF-8": [handshake(), step(b"\0\xff\0\xff")],
    # SCRAM
    **{
        f"{name}{what}": [handshake(name), *steps]
        for name, of in (("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512"))
        for what, steps in {
            "": [*proven(of), metadata()],
            ", wrong password": proven(of, password="x"),
            ", no such user": [step(b"n,,n=nobody,r=abc")],
            ", nothing": [step(b"")],
            ", nonsense": [step(b"\xff\xfe")],
            ", no nonce": [step(b"n,,n=alice,r=")],
            ", channels bound": [step(b"p=tls-unique,,n=alice,r=abc")],
            ", channels not bound": [step(b"y,,n=alice,r=abc")],
            ", as oneself": [*proven(of, "n,a=alice,"), metadata()],
            ", as another": [step(b"n,a=bob,n=alice,r=abc")],
            ", a name that is none": [step(b"n,,n=a=b,r=abc")],
            ", a token": [step(b"n,,n=alice,r=abc,tokenauth=true")],
            ", another nonce": proven(of, nonce="noncenonce"),
            ", the end of the nonce": proven(of, nonce="x"),
            ", another binding": [*proven(of, binding="eSws"), metadata()],
            ", no proof": [step(b"n,,n=alice,r=abc"), lambda _: step(b"c=biws,r=x,p=")],
            ", nothing then": [step(b"n,,n=alice,r=abc"), lambda _: step(b"")],
            ", the first again": [step(b"n,,n=alice,r=abc")] * 2,
        }.items()
    },
    "scram, an extension": [
        handshake("SCRAM-SHA-256"), step(b"n,,n=alice,r=abc,x=y"),
    ],
    # OAUTHBEARER
    "BEARER": [handshake("OAUTHBEARER"), step(bearer(unsigned())), metadata()],
    "BEARER, extensions": [
        handshake("OAUTHBEARER"), step(bearer(unsigned(), more="a=b\1")), metadata(),
    ],
    "BEARER, as oneself": [
        handshake("OAUTHBEARER"), step(bearer(unsigned(), USER)), metadata(),
    ],
    "BEARER, as another": [handshake("OAUTHBEARER"), step(bearer(unsigned(), "bob"))],
    **{
        f"BEARER, {what}": [handshake("OAUTHBEARER"), step(data), step(b"\1")]
        for what, data in {
            "over": bearer(unsigned(lasts_s=-1)),
            "not yet": bearer(unsigned(issued_s=60)),
            "nobody's": bearer(unsigned("")),
            "signed": bearer(unsigned() + "abcd"),
            "another algorithm": bearer(unsigned(alg="HS256")),
            "no token": bearer("abc"),
            "no JSON": bearer("YWJj.YWJj."),
        }.items()
    },
    "BEARER, over, once more": [
        handshake("OAUTHBEARER"),
        step(bearer(unsigned(lasts_s=-1))),
        step(bearer(unsigned())),
        metadata(),
    ],
    "BEARER, nothing": [handshake("OAUTHBEARER"), step(b"")],
    "BEARER, the byte at first": [handshake("OAUTHBEARER"), step(b"\1")],
    "BEARER, nonsense": [handshake("OAUTHBEARER"), step(b"\xff")],
    "BEARER, Basic": [handshake("OAUTHBEARER"), step(b"n,,\1auth=Basic abc\1\1")],
    "BEARER, no auth": [handshake("OAUTHBEARER"), step(b"n,,\1a=b\1\1")],
    # Sessions that end, and are renewed
    "SHORT": [handshake(), step(plain()), metadata()],
    "SHORT, step v0": [handshake(), step(plain(), 0), metadata()],
    "SHORT, renewed": [
        handshake(), step(plain()), metadata(), handshake(), step(plain()), metadata(),
    ],
    "SHORT, renewed bare": [
        handshake(), step(plain()), handshake(version=0), bare(plain()), metadata(),
    ],
    "SHORT, renewed twice in a second": [
        handshake(), step(plain()), handshake(), step(plain()), handshake(), metadata(),
    ],
    "SHORT, another user": [handshake(), step(plain()), handshake(), step(plain("bob"))],
    "SHORT, wrong password": [
        handshake(), step(plain()), handshake(), step(plain(password="x")),
    ],
    "SHORT, no such mechanism": [handshake(), step(plain()), handshake("NOPE")],
    "SHORT, another mechanism": [
        handshake(), step(plain()), handshake("SCRAM-SHA-256"), step(b"n,,n=alice,r=abc"),
    ],
    "SHORT, another mechanism, and then the right one": [
        handshake(), step(plain()), handshake("SCRAM-SHA-256"), handshake(), step(plain()),
    ],
    "SHORT, another mechanism, bare": [
        handshake(), step(plain()), handshake("SCRAM-SHA-256", 0), bare(b""),
    ],
    "SHORT, scram renewed": [
        handshake("SCRAM-SHA-256"), *proven(), handshake("SCRAM-SHA-256"), *proven(), metadata(),
    ],
    "SHORT, ApiVersions in between": [handshake(), step(plain()), handshake(), versions()],
    "SHORT, something else in between": [handshake(), step(plain()), handshake(), metadata()],
    "SHORT, a handshake that ends": [
        handshake(), step(plain()), bare(struct.pack(">hhih", 17, 1, 1, -1) + b"\0\x09a"),
    ],
    "SHORT, a handshake of another time": [
        handshake(), step(plain()), handshake(raw_version=5),
    ],
    "SHORT, over": [handshake(), step(plain()), 4.3, metadata()],
    "SHORT, over, and renewed": [
        handshake(), step(plain()), 4.3, handshake(), step(plain()), metadata(),
    ],
    "SHORT, over, and renewed too often": [
        handshake(), step(plain()), handshake(), step(plain()), 4.3, handshake(), step(plain()),
        4.3, handshake(), metadata(),
    ],
}  # fmt: skip


def listener_of(scenario):
    first = scenario.partition(",")[0]
    return first if first in {"SHORT", "BEARER"} else "SASL"


def play(address, scenario):
    """(what came of each, how it ended). Numbers are seconds that pass."""
    host, port = address.rsplit(":", 1)
    said, last = [], b""
    with socket.create_connection((host, int(port)), WAIT_S) as sock:
        sent_at = time.monotonic()
        for one in SCENARIOS[scenario]:
            if isinstance(one, float):
                time.sleep(one)
                continue
            sent = sent_after(last, one) if callable(one) else one
            sent_at = time.monotonic()
            try:
                sock.sendall(sent.data)
                last = receive(sock, sent)
            except (ConnectionError, EOFError):
                return said, ending(sent_at)
            except TimeoutError:
                return said, "open"
            said.append(shown(last))
        sock.settimeout(OPEN_S)
        try:
            sock.recv(1)
        except TimeoutError:
            return said, "open"
        except ConnectionError:
            pass
        return said, ending(sent_at)


def ending(sent_at):
    return "turned away" if time.monotonic() - sent_at > LATE_S else "closed"


def receive(sock, sent):
    sock.settimeout(OPEN_S if sent.answer is None else WAIT_S)
    (size,) = struct.unpack(">i", exactly(sock, 4))
    frame = exactly(sock, size)
    if sent.answer is None:
        return frame
    return frames.decode_response(sent.answer, sent.version, frame)


def exactly(sock, size):
    data = bytearray()
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return bytes(data)


def shown(answer):
    """What can be compared: of a list of APIs that there is one, of nonces nothing."""
    if isinstance(answer, m.ApiVersionsResponse):
        return "versions", answer.error_code, bool(answer.api_keys)
    if isinstance(answer, m.SaslHandshakeResponse):
        return "handshake", answer.error_code, sorted(answer.mechanisms)
    if isinstance(answer, m.SaslAuthenticateResponse):
        said = kind_of(bytes(answer.auth_bytes))
        lasts_s = min(round(answer.session_lifetime_ms / 1_000), 60)
        return "step", answer.error_code, answer.error_message, said, lasts_s
    if isinstance(answer, bytes):
        return "bare", kind_of(answer)
    error = getattr(answer, "error_code", None)
    if error is None:
        rows = getattr(answer, "groups", None) or getattr(answer, "coordinators", None) or ()
        error = [row.error_code for row in rows]
    return type(answer).__name__, error


def kind_of(data):
    """Of SCRAM's words which they are, as what they say is drawn."""
    return data[:2] if data[:2] in {b"r=", b"v="} else data
