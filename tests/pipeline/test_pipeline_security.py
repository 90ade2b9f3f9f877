"""Options of TLS and SASL in Spark: Java's words in our client's, and no secret in a text."""

import pickle

import pytest
from test_pipeline_options import SERVERS, stream

from kcore.consumer.config import ConsumerConfig
from kcore.pipeline.errors import OptionError
from kcore.pipeline.options import sink_options
from kcore.pipeline.planning import OffsetRange
from kcore.pipeline.source import KcoreReader, KcoreStreamReader, RangePartition

SECRET = "geheim-17"
JAAS = (
    "org.apache.kafka.common.security.scram.ScramLoginModule required "
    f'username="alice" password="{SECRET}";'
)
SCRAM = {
    "kafka.security.protocol": "SASL_PLAINTEXT",
    "kafka.sasl.mechanism": "SCRAM-SHA-256",
    "kafka.sasl.jaas.config": JAAS,
}


@pytest.mark.parametrize(
    ("module", "rest", "password"),
    [
        ("scram.ScramLoginModule", "username='alice' password='p w'", "p w"),
        ("plain.PlainLoginModule", 'username="alice"\n  password="a\\"b;c"', 'a"b;c'),
        ("plain.PlainLoginModule", "username=alice password=plain", "plain"),
    ],
)
def test_jaas(module, rest, password):
    text = f"org.apache.kafka.common.security.{module} required {rest} ;"
    found = stream(**{**SCRAM, "kafka.sasl.jaas.config": text}).client
    assert (found["sasl_plain_username"], found["sasl_plain_password"]) == ("alice", password)


@pytest.mark.parametrize(
    ("rest", "delegated"),
    [
        ('tokenauth="true"', True),
        ("tokenauth=TRUE", True),
        ('tokenauth="false"', False),
        ('tokenauth="yes"', False),
    ],
)
def test_jaas_of_a_delegation_token(rest, delegated):
    text = JAAS.replace(";", f" {rest};")
    for find in (stream, lambda **given: sink_options({**SERVERS, **given})):
        found = find(**{**SCRAM, "kafka.sasl.jaas.config": text}).client
        assert found.get("sasl_delegation_token", False) is delegated


def test_a_token_is_nothing_to_other_modules():
    text = JAAS.replace("scram.Scram", "plain.Plain").replace(";", ' tokenauth="true";')
    found = stream(**{**SCRAM, "kafka.sasl.mechanism": "PLAIN", "kafka.sasl.jaas.config": text})
    assert "sasl_delegation_token" not in found.client


@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_stores_of_other_kinds_are_refused_by_their_kind_alone(store):
    with pytest.raises(OptionError, match=rf"only PEM is available \(ssl\.{store}\.type=PEM\)"):
        stream(**{f"kafka.ssl.{store}.type": "JKS"})
    assert not [
        name for name in stream(**{f"kafka.ssl.{store}.type": "pem"}).client if "ssl" in name
    ]


def test_a_delegation_token_by_an_option_of_its_own():
    found = stream(**{**SCRAM, "kafka.sasl.delegation.token": "true"}).client
    assert found["sasl_delegation_token"] == "true"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (JAAS.replace("Scram", "Ntlm"), "only PlainLoginModule, ScramLoginModule, OAuth"),
        (JAAS.rstrip(";"), "has to end with `;`"),
        (JAAS.replace("LoginModule", ""), "only PlainLoginModule, ScramLoginModule, OAuth"),
        (JAAS * 2, "one login module is all"),
        (JAAS.replace("username", "user"), "has no username"),
        (JAAS.replace("password=", "secret="), "has no password"),
    ],
)
def test_jaas_that_cannot_be_read_is_not_repeated(text, said):
    with pytest.raises(OptionError, match=said) as caught:
        stream(**{**SCRAM, "kafka.sasl.jaas.config": text})
    assert caught.value.option == "kafka.sasl.jaas.config"
    assert SECRET not in str(caught.value)


BEARER = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "OAUTHBEARER",
    "kafka.sasl.oauthbearer.token.endpoint.url": "https://id.example/token",
}
MODULE = "org.apache.kafka.common.security.oauthbearer"


def test_jaas_of_tokens_and_javas_callback_handler():
    text = (
        f"{MODULE}.OAuthBearerLoginModule required clientId='me' clientSecret=\"{SECRET}\" "
        "scope='a b' extension_logicalCluster='lkc-1' extension_pool='p';"
    )
    handler = f"{MODULE}.secured.OAuthBearerLoginCallbackHandler"
    options = {
        **BEARER,
        "kafka.sasl.jaas.config": text,
        "kafka.sasl.login.callback.handler.class": handler,
    }
    for found in (stream(**options).client, sink_options({**SERVERS, **options}).client):
        assert found["sasl_oauthbearer_client_credentials_client_id"] == "me"
        assert found["sasl_oauthbearer_client_credentials_client_secret"] == SECRET
        assert found["sasl_oauthbearer_scope"] == "a b"
        assert found["sasl_oauthbearer_extensions"] == "logicalCluster=lkc-1,pool=p"
        assert "sasl_login_callback_handler_class" not in found


def test_tokens_by_options_of_their_own_beside_an_empty_jaas():
    client = "kafka.sasl.oauthbearer.client.credentials.client"
    found = stream(
        **BEARER,
        **{f"{client}.id": "me", f"{client}.secret": SECRET},
        **{"kafka.sasl.jaas.config": f"{MODULE}.OAuthBearerLoginModule required;"},
    ).client
    assert found["sasl_oauthbearer_client_credentials_client_secret"] == SECRET


def test_tokens_for_assertions_and_in_files():
    asked = {
        "kafka.sasl.oauthbearer.jwt.retriever.class": f"{MODULE}.JwtBearerJwtRetriever",
        "kafka.sasl.oauthbearer.assertion.private.key.file": "key.pem",
        "kafka.sasl.oauthbearer.assertion.private.key.passphrase": SECRET,
        "kafka.sasl.oauthbearer.assertion.claim.iss": "me",
        "kafka.sasl.jaas.config": f"{MODULE}.OAuthBearerLoginModule required;",
    }
    for find in (stream, lambda **given: sink_options({**SERVERS, **given})):
        options = find(**BEARER, **asked)
        assert options.client["sasl_oauthbearer_assertion_private_key_file"] == "key.pem"
        assert SECRET not in repr(options)
    file = {**BEARER, "kafka.sasl.oauthbearer.token.endpoint.url": "file:///run/token"}
    assert stream(**file).client["sasl_oauthbearer_token_endpoint_url"] == "file:///run/token"
    with pytest.raises(OptionError, match="JwtBearerJwtRetriever") as caught:
        stream(**BEARER, **asked, **{"kafka.sasl.oauthbearer.client.credentials.client.id": "me"})
    assert SECRET not in str(caught.value)


class Vault:
    """Where tests find tokens."""

    def token(self):
        return SECRET


def test_a_provider_of_python_travels_by_name():
    options = {name: value for name, value in BEARER.items() if "endpoint" not in name}
    name = f"{Vault.__module__}:Vault"
    found = stream(**options, **{"kafka.sasl.oauth.token.provider": name}).client
    assert found["sasl_oauth_token_provider"] == name
    assert ConsumerConfig.from_options(found).sasl_oauth_token_provider.token() == SECRET
    for wrong in ("no.such:Vault", f"{Vault.__module__}:Nothing", "nonsense", f"{MODULE}:SECRET"):
        with pytest.raises(OptionError, match=r"module:name") as caught:
            stream(**options, **{"kafka.sasl.oauth.token.provider": wrong})
        assert caught.value.option == "kafka.sasl.oauth.token.provider"


@pytest.mark.parametrize(
    ("more", "option", "said"),
    [
        (
            {"kafka.sasl.login.callback.handler.class": "software.amazon.IAMHandler"},
            "kafka.sasl.login.callback.handler.class",
            "module:Name",
        ),
        (
            {
                "kafka.sasl.jaas.config": f"{MODULE}.OAuthBearerLoginModule required "
                f"unsecuredLoginStringClaim_sub='{SECRET}';"
            },
            "kafka.sasl.jaas.config",
            "unsecuredLoginStringClaim_sub is not known",
        ),
        ({}, "kafka.sasl.oauthbearer.client.credentials.client.id", "needs"),
    ],
)
def test_tokens_that_cannot_be_had_so(more, option, said):
    with pytest.raises(OptionError, match=said) as caught:
        stream(**BEARER, **more)
    assert caught.value.option == option
    assert SECRET not in str(caught.value)


def test_pem_stores(tmp_path):
    pem = tmp_path / "x.pem"
    pem.write_text("")
    tls = {
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "pem",
        "kafka.ssl.truststore.location": str(pem),
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.location": str(pem),
        "kafka.ssl.key.password": SECRET,
        "kafka.ssl.endpoint.identification.algorithm": "",
    }
    found = stream(**tls).client
    assert found["ssl_cafile"] == found["ssl_certfile"] == str(pem)
    assert (found["ssl_password"], found["ssl_check_hostname"]) == (SECRET, False)
    tls["kafka.ssl.endpoint.identification.algorithm"] = "https"
    assert stream(**tls).client["ssl_check_hostname"] is True


def test_pem_texts():
    pem = "-----BEGIN X-----\nabc\n-----END X-----"
    found = stream(
        **{
            "kafka.security.protocol": "SSL",
            "kafka.ssl.truststore.type": "PEM",
            "kafka.ssl.truststore.certificates": pem,
            "kafka.ssl.keystore.certificate.chain": pem,
            "kafka.ssl.keystore.key": pem + SECRET,
        }
    ).client
    assert found["ssl_cadata"] == found["ssl_certdata"] == pem
    assert found["ssl_keydata"] == pem + SECRET


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"ssl.truststore.location": "a.jks"}, "ssl.truststore.location"),
        ({"ssl.truststore.location": "a", "ssl.truststore.type": "JKS"}, "ssl.truststore"),
        ({"ssl.keystore.location": "a.p12", "ssl.keystore.type": "PKCS12"}, "ssl.keystore"),
    ],
)
def test_javas_own_stores_are_refused_with_the_way_out(options, name):
    with pytest.raises(OptionError, match=r"PEM") as caught:
        stream(**{f"kafka.{key}": value for key, value in options.items()})
    assert caught.value.option.startswith(f"kafka.{name}")


def test_a_proxy_and_its_password_go_to_the_client_and_nowhere_else():
    through = {"kafka.proxy.url": f"socks5h://me:{SECRET}@proxy:1080"}
    options = stream(**through)
    sink = sink_options({**SERVERS, **through, "topic": "t"})
    for one in (options, sink):
        assert one.client["proxy_url"] == through["kafka.proxy.url"]
    for one in (options, sink, KcoreReader(options), KcoreStreamReader(options)):
        assert SECRET not in f"{one!r} {one}"
    with pytest.raises(OptionError, match="must be socks5://") as caught:
        stream(**{"kafka.proxy.url": f"me:{SECRET}@proxy:1080"})
    assert caught.value.option == "kafka.proxy.url"
    assert SECRET not in f"{caught.value!r} {caught.value}"


def test_secrets_are_in_no_text():
    options = stream(**SCRAM)
    sink = sink_options({**SERVERS, **SCRAM, "topic": "t"})
    assert options.client["sasl_plain_password"] == SECRET  # or the test proves nothing
    assert sink.client["sasl_plain_password"] == SECRET
    task = RangePartition(OffsetRange("t", 0, 1, 2))
    for one in (options, sink, KcoreReader(options), KcoreStreamReader(options), task):
        assert SECRET not in repr(one)
        assert SECRET not in str(one)
    # Tasks carry a range each; the options travel once, with the reader.
    assert SECRET.encode() not in pickle.dumps(task)


@pytest.mark.parametrize(
    "options",
    [
        {"kafka.sasl.mechanism": "SCRAM-SHA-999"},
        {"kafka.security.protocol": "PLAINTEXT"},
        {"kafka.request.timeout.ms": "x"},
        {"startingOffsets": "x"},
    ],
)
def test_secrets_are_in_no_error(options):
    for make in (lambda: stream(**{**SCRAM, **options}),):
        with pytest.raises(OptionError) as caught:
            make()
        assert SECRET not in str(caught.value)
        assert SECRET not in repr(caught.value)
