"""Assertions that clients sign, and files with tokens; another library than ours reads them."""

import base64
import json
import os
import sys
import time

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from joserfc import jwt
from joserfc.errors import BadSignatureError
from joserfc.jwk import ECKey, RSAKey
from token_endpoint import TokenEndpoint

from kcore import ConsumerConfig
from kcore.clients.credentials.tokens import provider_of
from kcore.errors import KafkaConfigurationError, SaslAuthenticationFailedError

SECRET = "very-secret"
RSA = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
EC = ec.generate_private_key(ec.SECP256R1())
OTHER = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
KEYS = {"RS256": RSA, "ES256": EC}
CLIENT = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


def pem(key, passphrase=None):
    how = serialization.NoEncryption()
    if passphrase is not None:
        how = serialization.BestAvailableEncryption(passphrase.encode())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how
    ).decode()


def public(key):
    made = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return (RSAKey if isinstance(key, rsa.RSAPrivateKey) else ECKey).import_key(made)


@pytest.fixture
def endpoint():
    with TokenEndpoint() as endpoint:
        endpoint.answer = (200, {"access_token": "one", "expires_in": 100}, {})
        yield endpoint


@pytest.fixture
def key_file(tmp_path):
    def written(key=RSA, passphrase=None):
        path = tmp_path / "key.pem"
        path.write_text(pem(key, passphrase))
        return str(path)

    return written


def provider(url, **more):
    named = {f"sasl.oauthbearer.{name.replace('_', '.')}": value for name, value in more.items()}
    config = ConsumerConfig.from_options(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": url,
            **named,
        }
    )
    return provider_of(config)


def asked(endpoint, **more):
    """The form of a question by these options."""
    assert provider(endpoint.url, **more).token() == "one"
    ((login, form),) = endpoint.asked
    assert login is None
    assert all(len(values) == 1 for values in form.values())
    return {name: values[0] for name, values in form.items()}


def opened(assertion, key, algorithm="RS256"):
    token = jwt.decode(assertion, public(key), algorithms=[algorithm])
    return token.header, token.claims


@pytest.mark.parametrize("algorithm", KEYS)
@pytest.mark.parametrize("passphrase", [None, "pass phrase"])
def test_for_a_bearers_assertion(endpoint, key_file, algorithm, passphrase):
    before_s = int(time.time())
    more = {} if passphrase is None else {"assertion_private_key_passphrase": passphrase}
    form = asked(
        endpoint,
        jwt_retriever_class="org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever",
        assertion_algorithm=algorithm,
        assertion_private_key_file=key_file(KEYS[algorithm], passphrase),
        assertion_claim_iss="me",
        assertion_claim_sub="orders-reader",
        assertion_claim_aud="https://id.example",
        scope=" read write ",
        **more,
    )
    assert set(form) == {"grant_type", "assertion", "scope"}
    assert (form["grant_type"], form["scope"]) == (BEARER, "read write")
    header, claims = opened(form["assertion"], KEYS[algorithm], algorithm)
    assert header == {"alg": algorithm, "typ": "JWT"}
    issued_s = claims.pop("iat")
    assert before_s <= issued_s <= time.time()
    assert claims == {
        "iss": "me",
        "sub": "orders-reader",
        "aud": "https://id.example",
        "exp": issued_s + 300,
        "nbf": issued_s - 60,
    }


@pytest.mark.parametrize("client_id", [None, "me"])
def test_an_assertion_in_place_of_a_secret(endpoint, client_id):
    more = {} if client_id is None else {"client_credentials_client_id": client_id}
    form = asked(
        endpoint,
        assertion_private_key_pem=pem(RSA).replace("\n", "\\n"),
        assertion_claim_iss="me",
        **more,
    )
    assert form.get("client_id") == client_id
    assert form["grant_type"] == "client_credentials"
    assert form["client_assertion_type"] == CLIENT
    _, claims = opened(form["client_assertion"], RSA)
    assert claims["iss"] == "me"
    assert not {"sub", "aud", "jti"} & claims.keys()
    with pytest.raises(BadSignatureError):
        opened(form["client_assertion"], OTHER)


def test_the_template_is_above_options_and_below_the_moment(endpoint, key_file, tmp_path):
    template = {
        "header": {"kid": "k1", "alg": "none", "typ": "at+jwt"},
        "payload": {"aud": ["a", "b"], "exp": 1, "nbf": 2, "iat": 3, "jti": "j", "x": {"y": 1}},
    }
    path = tmp_path / "template.json"
    path.write_text(json.dumps(template))
    form = asked(
        endpoint,
        grant_type=BEARER,  # librdkafka's words
        assertion_jwt_template_file=str(path),
        assertion_private_key_file=key_file(),
        assertion_claim_aud="option",
        assertion_claim_sub="option",
        assertion_claim_jti_include="true",
        assertion_claim_exp_seconds="10",
        assertion_claim_nbf_seconds="0",
    )
    header, claims = opened(form["assertion"], RSA)
    assert header == {"kid": "k1", "alg": "RS256", "typ": "JWT"}
    assert (claims["aud"], claims["sub"], claims["x"]) == (["a", "b"], "option", {"y": 1})
    assert claims["exp"] - claims["iat"] == 10
    assert claims["nbf"] == claims["iat"] > 1_000_000_000
    assert len(claims["jti"]) == 36


def test_each_question_has_an_assertion_of_its_own(endpoint, key_file):
    endpoint.answer = (200, {"id_token": "one"}, {})  # it says nothing of its time
    tokens = provider(
        endpoint.url,
        assertion_private_key_file=key_file(),
        assertion_claim_iss="me",
        assertion_claim_jti_include=True,
    )
    assert [tokens.token(), tokens.token()] == ["one", "one"]
    first, second = (form["client_assertion"][0] for _, form in endpoint.asked)
    assert opened(first, RSA)[1]["jti"] != opened(second, RSA)[1]["jti"]
    key_file(OTHER)  # keys are replaced while clients run
    tokens.token()
    opened(endpoint.asked[-1][1]["client_assertion"][0], OTHER)


def jwt_text(**claims):
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims, {}))
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def test_an_assertion_of_somebody_elses(endpoint, tmp_path):
    path = tmp_path / "assertion"
    path.write_text(f"\n{jwt_text(sub='a')}\n")
    tokens = provider(endpoint.url, assertion_file=str(path))
    endpoint.answer = (200, {"access_token": "one"}, {})
    tokens.token()
    path.write_text(jwt_text(sub="b"))
    tokens.token()
    said = [form["client_assertion"][0] for _, form in endpoint.asked]
    assert said == [jwt_text(sub="a"), jwt_text(sub="b")]


@pytest.mark.parametrize("retriever", [None, "FileJwtRetriever"])
def test_a_token_in_a_file_is_read_each_time(tmp_path, retriever):
    path = tmp_path / "a token"
    path.write_text(jwt_text(sub="a"))
    more = {} if retriever is None else {"jwt_retriever_class": retriever}
    url = f"file://{path}".replace(" ", "%20")
    tokens = provider(url, extensions="pool=p", **more)
    assert tokens.token() == jwt_text(sub="a")
    assert tokens.extensions() == {"pool": "p"}
    path.write_text(jwt_text(sub="b") + "\n")
    assert tokens.token() == jwt_text(sub="b")
    assert str(path) in repr(tokens)


@pytest.mark.parametrize(
    "text",
    ["", "a.b.c", jwt_text()[:-4], "[]." * 2 + "x", f"{jwt_text()}.x", "\u00fc", "x" * 262_145],
)
def test_files_that_hold_no_token(tmp_path, text):
    path = tmp_path / "token"
    path.write_text(text)
    with pytest.raises(SaslAuthenticationFailedError, match=str(path)) as caught:
        provider(f"file://{path}").token()
    assert not text or text not in str(caught.value)
    os.remove(path)
    with pytest.raises(SaslAuthenticationFailedError, match="No such file"):
        provider(f"file://{path}").token()


@pytest.mark.parametrize(
    ("key", "passphrase", "said", "why"),
    [
        (EC, None, None, "not for RS256, which takes an RSA key of 2048 bits"),
        (rsa.generate_private_key(65_537, 1_024), None, None, "not for RS256"),
        (RSA, "right", None, "Password was not given"),
        (RSA, "right", SECRET, "not by this passphrase"),
        (RSA, None, SECRET, "not encrypted"),
    ],
)
def test_keys_that_can_sign_nothing(key_file, key, passphrase, said, why):
    path = key_file(key, passphrase)
    more = {} if said is None else {"assertion_private_key_passphrase": said}
    with pytest.raises(KafkaConfigurationError, match=why) as caught:
        provider(
            "https://id.example/token",
            assertion_private_key_file=path,
            assertion_claim_iss="me",
            **more,
        )
    assert caught.value.option == "sasl_oauthbearer_assertion_private_key_file"
    assert path in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("curve", [ec.SECP384R1(), ec.SECP256K1()])
def test_other_curves(curve):
    with pytest.raises(KafkaConfigurationError, match="not for ES256, which takes secp256r1"):
        provider(
            "https://id.example/token",
            assertion_private_key_pem=pem(ec.generate_private_key(curve)),
            assertion_algorithm="ES256",
        )


@pytest.mark.parametrize("text", ["[]", "{", '{"header": []}', '{"payload": "x"}', "[" * 100_000])
def test_templates_that_are_none(key_file, tmp_path, text):
    path = tmp_path / "template"
    path.write_text(text)
    with pytest.raises(KafkaConfigurationError, match='"header" and a "payload"') as caught:
        provider(
            "https://id.example/token",
            assertion_private_key_file=key_file(),
            assertion_template_file=str(path),
        )
    assert caught.value.option == "sasl_oauthbearer_assertion_template_file"


def test_what_cannot_be_signed_is_an_error_of_its_own(endpoint, key_file, tmp_path):
    path = tmp_path / "template"
    path.write_text('{"header": {"kid": 3}}')
    tokens = provider(
        endpoint.url,
        assertion_private_key_file=key_file(),
        assertion_template_file=str(path),
    )
    with pytest.raises(SaslAuthenticationFailedError, match="cannot be signed"):
        tokens.token()


def test_files_that_are_not_there():
    for option in ("private_key_file", "file"):
        with pytest.raises(KafkaConfigurationError, match="No such file"):
            provider("https://id.example/token", **{f"assertion_{option}": "/nowhere/at/all"})


def test_without_the_extra_it_says_which(monkeypatch, key_file):
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(KafkaConfigurationError, match=r"pip install 'kcore\[oauth\]'"):
        provider("https://id.example/token", assertion_private_key_file=key_file())


def test_neither_key_nor_passphrase_is_shown(endpoint):
    text = pem(RSA, SECRET)
    options = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_token_endpoint_url": endpoint.url,
        "sasl_oauthbearer_assertion_private_key_pem": text,
        "sasl_oauthbearer_assertion_private_key_passphrase": SECRET,
        "sasl_oauthbearer_assertion_claim_iss": "me",
    }
    config = ConsumerConfig.from_options(options)
    tokens = provider_of(config)
    endpoint.answer = (400, {"error": "invalid_grant"}, {})
    with pytest.raises(SaslAuthenticationFailedError, match="invalid_grant") as caught:
        tokens.token()
    body = text.splitlines()[1]
    for shown in (repr(config), str(config.as_mapping()), repr(tokens), str(caught.value)):
        assert SECRET not in shown
        assert body not in shown


def test_an_endpoint_that_repeats_what_it_was_asked_with(endpoint, key_file):
    def repeat(login, form):
        return 400, f"{login} s:3 cret {form.get('client_assertion')}".encode(), {}

    endpoint.answer = repeat
    secret = {"client_credentials_client_id": "me", "client_credentials_client_secret": "s:3 cret"}
    signed = {"assertion_private_key_file": key_file()}
    for more in (secret, {**secret, "header_urlencode": True}, signed):
        with pytest.raises(SaslAuthenticationFailedError, match="HTTP 400") as caught:
            provider(endpoint.url, **more).token()
        login, form = endpoint.asked[-1]
        assert "[hidden]" in str(caught.value)
        shown = str(caught.value)
        if login is None:
            assert form["client_assertion"][0][:100] not in shown
        else:
            assert login.removeprefix("Basic ") not in shown
            assert "3 cret" not in shown


def test_id_and_secret_are_encoded_for_who_wants_that(endpoint):
    login = {"client_credentials_client_id": "a b", "client_credentials_client_secret": "s:*~ü"}
    for urlencode in (True, False):
        provider(endpoint.url, header_urlencode=urlencode, **login).token()
    said = [base64.b64decode(who.removeprefix("Basic ")).decode() for who, _ in endpoint.asked]
    assert said == ["a+b:s%3A*%7E%C3%BC", "a b:s:*~ü"]
