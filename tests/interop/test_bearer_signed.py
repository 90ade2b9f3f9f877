"""OAUTHBEARER with tokens that are signed: a real Kafka that knows the keys of an identity
provider, which gives tokens for assertions (KIP-1139, KIP-1258) and reads these with another
library than makes them here. Java's own client is asked for the same, and what it sends is held
against ours.
"""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from contextlib import contextmanager

import pytest
from certificates import missing
from confluent_kafka.admin import AdminClient
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet, RSAKey
from secure_kafka import SecureKafka
from token_endpoint import TokenEndpoint

from kcore import Admin, Consumer, Producer, TopicPartition
from kcore.errors import NoBrokersAvailable, SaslAuthenticationFailedError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kafka,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

OAUTH = "org.apache.kafka.common.security.oauthbearer"
ALLOWED = "org.apache.kafka.sasl.oauthbearer.allowed"
ISSUER = "https://provider.example"
AUDIENCE = "kafka"
PASSPHRASE = "pass phrase"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
CLIENT_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
REFUSED = (SaslAuthenticationFailedError, NoBrokersAvailable)


class Provider:
    """Gives tokens, which `key` signs, for assertions that are all that RFC 7523 asks for."""

    def __init__(self):
        self.key = RSAKey.generate_key(2_048, {"kid": "of-the-provider", "use": "sig"})
        self.audience = ""
        self.known = {}  # by algorithm, the public keys of clients
        self.assertions = []  # header, claims
        self.seen = set()

    def token(self, subject, key=None, **claims):
        now = int(time.time())
        whose = {"iss": ISSUER, "sub": subject, "aud": AUDIENCE}
        claims = {**whose, "iat": now, "exp": now + 600, **claims}
        return jwt.encode({"alg": "RS256", "kid": "of-the-provider"}, claims, key or self.key)

    def answer(self, login, form):
        kind = form["grant_type"][0]
        assertion = form.get("assertion" if kind == JWT_BEARER else "client_assertion")
        if assertion is None:
            known = login == "Basic bWUrJTI2OnMrJTI2"  # me+%26:s+%26
            return self.given("me") if known else (401, {"error": "invalid_client"}, {})
        if kind != JWT_BEARER and form["client_assertion_type"] != [CLIENT_TYPE]:
            return 400, {"error": "invalid_request"}, {}
        try:
            return self.given(self.read(assertion[0]))
        except (JoseError, ValueError) as error:
            return 400, {"error": "invalid_grant", "error_description": str(error)}, {}

    def given(self, subject):
        answer = {"access_token": self.token(subject), "expires_in": 600}
        return 200, answer, {"Content-Type": "application/json"}  # librdkafka insists

    def read(self, assertion):
        def key(signature):
            return self.known[signature.headers()["alg"]]

        token = jwt.decode(assertion, key, algorithms=list(self.known))
        header, claims = token.header, token.claims
        needed = {"essential": True}
        jwt.JWTClaimsRegistry(
            iss={**needed, "value": "me"},
            sub=needed,
            aud={**needed, "value": self.audience},
            exp=needed,
            nbf=needed,
            jti=needed,
        ).validate(claims)
        if claims["jti"] in self.seen:
            raise ValueError("seen before")
        self.seen.add(claims["jti"])
        self.assertions.append((header, claims))
        return claims["sub"]


class SignedKafka(SecureKafka):
    """Its BEARER listener takes tokens of a provider whose keys are in a file."""

    def __init__(self, keys):
        super().__init__()
        self.jwks = self.folder / "jwks.json"
        self.jwks.write_text(json.dumps(keys))

    def broker_settings(self, index):
        settings = super().broker_settings(index)
        handler = "sasl.server.callback.handler.class"
        settings[f"listener.name.bearer.oauthbearer.{handler}"] = (
            f"{OAUTH}.OAuthBearerValidatorCallbackHandler"
        )
        settings["sasl.oauthbearer.jwks.endpoint.url"] = self.jwks.as_uri()
        settings["sasl.oauthbearer.expected.audience"] = AUDIENCE
        settings["sasl.oauthbearer.expected.issuer"] = ISSUER  # a Kafka 4.4 asks for both
        return settings


@pytest.fixture(scope="module")
def provider():
    return Provider()


@pytest.fixture(scope="module")
def kafka(provider):
    made = SignedKafka(KeySet([provider.key]).as_dict(private=False))
    with allowed(made.jwks.as_uri()), made as kafka:
        kafka.create_topic("signed")
        yield kafka


@contextmanager
def allowed(*where):
    """Java asks and reads nothing that it was not told of beforehand."""
    with pytest.MonkeyPatch.context() as patch:
        told = ",".join(where)
        patch.setenv("JDK_JAVA_OPTIONS", f"-D{ALLOWED}.urls={told} -D{ALLOWED}.files={told}")
        yield


@pytest.fixture
def endpoint(provider):
    with TokenEndpoint() as endpoint:
        endpoint.answer = provider.answer
        provider.audience = endpoint.url
        provider.assertions.clear()
        yield endpoint


@pytest.fixture(scope="module")
def keys(provider, tmp_path_factory):
    """Files with a client's private keys, by algorithm; the provider knows the public halves."""
    folder, files = tmp_path_factory.mktemp("keys"), {}
    made = {
        "RS256": (rsa.generate_private_key(65_537, 2_048), RSAKey),
        "ES256": (ec.generate_private_key(ec.SECP256R1()), ECKey),
    }
    for algorithm, (key, kind) in made.items():
        files[algorithm] = folder / f"{algorithm}.pem"
        files[algorithm].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        provider.known[algorithm] = kind.import_key(
            key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
    return files


def asking(kafka, endpoint, **more):
    """Java's options, which ours reads as they are."""
    return {
        "bootstrap.servers": kafka.address("BEARER"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": endpoint.url,
        **{f"sasl.oauthbearer.{name.replace('_', '.')}": text for name, text in more.items()},
    }


def signed(keys, endpoint, algorithm="ES256", **more):
    return {
        "assertion_algorithm": algorithm,
        "assertion_private_key_file": str(keys[algorithm]),
        "assertion_claim_iss": "me",
        "assertion_claim_sub": "alice",
        "assertion_claim_aud": endpoint.url,
        "assertion_claim_jti_include": "true",
        **more,
    }


def by_java(kafka, options, tmp_path):
    """Kafka's own tool, with these options."""
    more = {
        "sasl.jaas.config": f"{OAUTH}.OAuthBearerLoginModule required;",
        "sasl.login.callback.handler.class": f"{OAUTH}.OAuthBearerLoginCallbackHandler",
    }
    config = tmp_path / "client.properties"
    config.write_text("".join(f"{name}={text}\n" for name, text in {**options, **more}.items()))
    where = ("--bootstrap-server", options["bootstrap.servers"], "--command-config", str(config))
    files = [text for name, text in options.items() if name.endswith(("file", "url"))]
    with allowed(*files):
        listed = kafka.tool("kafka-topics", "--list", *where)
    assert "signed" in listed


def by_us(options):
    with Admin(**{name.replace(".", "_"): value for name, value in options.items()}) as admin:
        assert "signed" in admin.list_topics()


BEARER = f"{OAUTH}.JwtBearerJwtRetriever"
CLIENT = f"{OAUTH}.ClientCredentialsJwtRetriever"


def locked(plain, folder):
    """The key under a passphrase, in the old way: Java 17 reads none under PBES2."""
    path = folder / "locked.pem"
    ways = ("-v1", "PBE-SHA1-3DES", "-passout", f"pass:{PASSPHRASE}")
    command = ("openssl", "pkcs8", "-topk8", "-in", str(plain), "-out", str(path), *ways)
    subprocess.run(command, check=True, capture_output=True)
    return str(path)


def for_bearer(keys, endpoint, _folder):
    more = {"assertion_claim_exp_seconds": "120", "scope": " read write "}
    return {"jwt_retriever_class": BEARER, **signed(keys, endpoint, **more)}


def with_a_passphrase(keys, endpoint, folder):
    more = {
        "assertion_private_key_file": locked(keys["RS256"], folder),
        "assertion_private_key_passphrase": PASSPHRASE,
        "assertion_claim_nbf_seconds": "0",
    }
    return {"jwt_retriever_class": BEARER, **signed(keys, endpoint, "RS256", **more)}


def with_a_template(keys, endpoint, folder):
    template = folder / "template.json"
    payload = {"aud": [endpoint.url, "x"], "sub": "bob", "exp": 1, "extra": {"a": [1, None, "ü"]}}
    header = {"kid": "k1", "typ": "at+jwt", "alg": "none"}
    template.write_text(json.dumps({"header": header, "payload": payload}))
    more = {"assertion_template_file": str(template)}
    return {"jwt_retriever_class": BEARER, **signed(keys, endpoint, **more)}


def as_a_client(keys, endpoint, _folder):
    return {"jwt_retriever_class": CLIENT, **signed(keys, endpoint)}


def as_a_client_with_an_id(keys, endpoint, _folder):
    return {"client_credentials_client_id": "me & co", "scope": "s", **signed(keys, endpoint)}


def by_an_encoded_secret(_keys, _endpoint, _folder):
    return {
        "client_credentials_client_id": "me &",
        "client_credentials_client_secret": "s &",
        "header_urlencode": "true",
        "scope": "a b",
    }


def known(endpoint):
    """The one question, in what does not change from one to the next."""
    (headers,), ((login, form),) = endpoint.headers, endpoint.asked
    names = ("Accept", "Cache-Control", "Content-Type")
    form = dict(form)
    form.pop("assertion", None)
    form.pop("client_assertion", None)
    endpoint.headers.clear()
    endpoint.asked.clear()
    return [headers.get(name) for name in names], login, form


def timeless(provider):
    """Of each assertion the header, the claims, and how its times stand to each other."""
    found = []
    for header, claims in provider.assertions:
        rest = dict(claims)
        issued = rest.pop("iat")
        assert abs(time.time() - issued) < 60
        assert str(uuid.UUID(rest["jti"])) == rest.pop("jti")
        for name in ("exp", "nbf"):
            assert isinstance(rest[name], int)
            rest[name] -= issued
        found.append((header, rest))
    provider.assertions.clear()
    return found


@pytest.mark.parametrize(
    "made",
    [
        for_bearer,
        with_a_passphrase,
        with_a_template,
        as_a_client,
        as_a_client_with_an_id,
        by_an_encoded_secret,
    ],
)
def test_what_is_asked_is_what_java_asks(made, kafka, provider, endpoint, keys, tmp_path):
    options = asking(kafka, endpoint, **made(keys, endpoint, tmp_path))
    by_us(options)
    ours, asserted = known(endpoint), timeless(provider)
    by_java(kafka, options, tmp_path)
    assert ours == known(endpoint)
    assert asserted == timeless(provider)
    assert len(asserted) == (made is not by_an_encoded_secret)


def by_a_key_file(keys, endpoint, _folder):
    return signed(keys, endpoint, "RS256", scope="read write")


def by_a_text_and_a_template(keys, endpoint, folder):
    template = folder / "template.json"
    payload = {"sub": "bob", "extra": {"a": [1, None, "ü"]}}
    template.write_text(json.dumps({"header": {"kid": "k1"}, "payload": payload}))
    # Not ES256: what librdkafka 2.16 signs by that is no signature to joserfc.
    found = signed(keys, endpoint, "RS256", assertion_claim_exp_seconds="120")
    del found["assertion_private_key_file"], found["assertion_claim_sub"]
    pem = keys["RS256"].read_text()
    return {**found, "assertion_private_key_pem": pem, "assertion_jwt_template_file": str(template)}


@pytest.mark.parametrize("made", [by_a_key_file, by_a_text_and_a_template])
def test_what_is_asked_is_what_librdkafka_asks(made, kafka, provider, endpoint, keys, tmp_path):
    """By its own options, which ours reads as they are."""
    options = asking(kafka, endpoint, grant_type=JWT_BEARER, **made(keys, endpoint, tmp_path))
    by_us(options)
    ours, asserted = known(endpoint)[1:], timeless(provider)
    theirs = AdminClient({**options, "sasl.oauthbearer.method": "oidc"})
    assert "signed" in theirs.list_topics(timeout=20).topics
    assert ours == known(endpoint)[1:]
    assert asserted == timeless(provider)
    assert len(asserted) == 1


def test_written_and_read(kafka, endpoint, keys):
    options = asking(kafka, endpoint, jwt_retriever_class=BEARER, **signed(keys, endpoint))
    with Producer(**options) as producer:
        producer.send("signed", b"x").get(20)
    with Consumer(**options, auto_offset_reset="earliest", group_id="g") as consumer:
        consumer.assign([TopicPartition("signed", 0)])
        values, until = [], time.monotonic() + 20
        while not values and time.monotonic() < until:
            values += [one.value for got in consumer.poll(200).values() for one in got]
    assert values == [b"x"]
    assert len(endpoint.asked) == 2  # each keeps its token


def test_an_assertion_and_a_token_from_files(kafka, provider, endpoint, keys, tmp_path):
    key = ECKey.import_key(keys["ES256"].read_bytes())
    now = int(time.time())
    claims = {"iss": "me", "sub": "a", "aud": endpoint.url, "exp": now + 60, "nbf": now, "jti": "1"}
    path = tmp_path / "assertion"
    path.write_text(jwt.encode({"alg": "ES256"}, claims, key) + "\n")
    by_us(asking(kafka, endpoint, jwt_retriever_class=BEARER, assertion_file=str(path)))
    assert provider.assertions == [({"alg": "ES256", "typ": "JWT"}, claims)]
    path.write_text(provider.token("carol"))
    for retriever in ("Default", "File"):
        options = asking(kafka, endpoint, jwt_retriever_class=f"{OAUTH}.{retriever}JwtRetriever")
        options["sasl.oauthbearer.token.endpoint.url"] = path.as_uri()
        by_us(options)
        by_java(kafka, options, tmp_path)
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"assertion_claim_aud": "https://elsewhere"}, "aud"),
        ({"assertion_claim_iss": "somebody"}, "iss"),
        ({"assertion_claim_exp_seconds": "0", "assertion_claim_nbf_seconds": "60"}, "exp"),
        ({"assertion_claim_jti_include": "false"}, "jti"),
        ({"assertion_algorithm": "RS256", "assertion_private_key_file": "OTHER"}, "bad_signature"),
    ],
)
def test_assertions_that_are_refused(change, why, kafka, endpoint, keys, tmp_path):
    if "assertion_private_key_file" in change:
        path = tmp_path / "other.pem"
        path.write_bytes(RSAKey.generate_key(2_048).as_pem(private=True))
        change = {**change, "assertion_private_key_file": str(path)}
    if why == "exp":
        at_once = endpoint.answer

        def later(*asked):
            time.sleep(1.1)
            return at_once(*asked)

        endpoint.answer = later
    made = signed(keys, endpoint, **change)
    options = asking(kafka, endpoint, jwt_retriever_class=BEARER, **made)
    with pytest.raises(REFUSED, match=f"HTTP 400.*{why}"):
        by_us({**options, "bootstrap_timeout_ms": 5_000})


@pytest.mark.parametrize(
    "wrong", ["another's key", "another's audience", "another's issuer", "over"]
)
def test_tokens_that_kafka_does_not_believe(wrong, kafka, provider, endpoint, tmp_path):
    now = int(time.time())
    made = {
        "another's key": lambda: provider.token("a", RSAKey.generate_key(2_048)),
        "another's audience": lambda: provider.token("a", aud="others"),
        "another's issuer": lambda: provider.token("a", iss="https://others.example"),
        "over": lambda: provider.token("a", iat=now - 600, exp=now - 300),
    }[wrong]()
    path = tmp_path / "token"
    path.write_text(made)
    options = asking(kafka, endpoint)
    options["sasl.oauthbearer.token.endpoint.url"] = path.as_uri()
    with pytest.raises(SaslAuthenticationFailedError, match="invalid_token") as caught:
        by_us(options)
    assert made not in str(caught.value)
