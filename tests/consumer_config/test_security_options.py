"""Options of TLS and SASL: what is taken, what contradicts, and that no secret is ever shown."""

import ssl
from types import SimpleNamespace

import pytest

from kcore.connection.credentials import DELEGATED, Credentials
from kcore.consumer.config import ConsumerConfig
from kcore.errors import KafkaConfigurationError
from kcore.settings.tokens import Source, source_of

SECRET = "very-secret"
SASL = {
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "alice",
    "sasl_plain_password": SECRET,
}


def make(**options):
    return ConsumerConfig.from_options(options)


@pytest.mark.parametrize("mechanism", ["PLAIN", "scram-sha-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "sasl_ssl"])
def test_sasl_becomes_the_links_credentials(protocol, mechanism):
    config = make(security_protocol=protocol, **{**SASL, "sasl_mechanism": mechanism})
    assert config.links().credentials == Credentials(mechanism.upper(), "alice", SECRET)


TOKEN = {**SASL, "security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512"}


@pytest.mark.parametrize("said", [True, "true", False, "false"])
def test_a_delegation_token_is_said_to_be_one(said):
    config = make(**TOKEN, sasl_delegation_token=said)
    extensions = DELEGATED if said in {True, "true"} else {}
    assert config.credentials == Credentials("SCRAM-SHA-512", "alice", SECRET, extensions)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"sasl_mechanism": "PLAIN"}, "by SCRAM, not by sasl_mechanism='PLAIN'"),
        ({"security_protocol": "SSL", **dict.fromkeys(SASL)}, "SASL_PLAINTEXT or SASL_SSL"),
        ({"sasl_plain_password": None}, "needs sasl_plain_password"),
        ({"sasl_delegation_token": "tokenauth"}, "sasl_delegation_token"),
    ],
)
def test_a_delegation_token_goes_by_scram(change, why):
    with pytest.raises(KafkaConfigurationError, match=why) as caught:
        make(**{**TOKEN, "sasl_delegation_token": True, **change})
    assert SECRET not in str(caught.value)


def test_without_sasl_there_are_no_credentials():
    assert make().links().credentials is None
    assert make(security_protocol="SSL").links().credentials is None


def test_java_names():
    config = ConsumerConfig.from_options(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl_plain_username": "a",
            "sasl_plain_password": "",
        }
    )
    assert config.links().credentials == Credentials("SCRAM-SHA-256", "a", "")


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"security_protocol": "SASL_SSL"}, "sasl_mechanism"),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"},
            "sasl_plain_username",
        ),
        (
            {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": "a",
            },
            "sasl_plain_password",
        ),
        (SASL, "sasl_mechanism"),
        ({"security_protocol": "SSL", "sasl_plain_password": SECRET}, "sasl_plain_password"),
        ({"ssl_cafile": "ca.pem"}, "ssl_cafile"),
        ({"security_protocol": "SASL_PLAINTEXT", **SASL, "ssl_ciphers": "x"}, "ssl_ciphers"),
        ({"ssl_check_hostname": False}, "ssl_check_hostname"),
        ({"security_protocol": "SSL", "ssl_keyfile": "k.pem"}, "ssl_keyfile"),
        ({"security_protocol": "SSL", "ssl_password": SECRET}, "ssl_password"),
        (
            {"security_protocol": "SSL", "ssl_context": ssl.create_default_context()}
            | {"ssl_cafile": "ca.pem"},
            "ssl_cafile",
        ),
        ({"security_protocol": "SSL", "ssl_context": object()}, "ssl_context"),
        ({"security_protocol": "SSL", "ssl_cafile": 3}, "ssl_cafile"),
        ({"security_protocol": "TLS"}, "security_protocol"),
        ({**SASL, "security_protocol": "SASL_SSL", "sasl_mechanism": "NTLM"}, "sasl_mechanism"),
        ({"sasl_plain_username": "a\0b"}, "sasl_plain_username"),
        ({"sasl_plain_username": ""}, "sasl_plain_username"),
        ({"sasl_plain_password": f"{SECRET}\0"}, "sasl_plain_password"),
        ({"sasl_plain_password": f"{SECRET}\ud800"}, "sasl_plain_password"),
        ({"sasl_plain_password": [SECRET]}, "sasl_plain_password"),
        ({"ssl_password": [SECRET]}, "ssl_password"),
        ({"sasl_kerberos_service_name": "other"}, "sasl_kerberos_service_name"),
        ({"sasl_oauth_token_provider": object()}, "sasl_oauth_token_provider"),
    ],
)
def test_contradictions_and_bad_values_name_the_option_and_no_secret(given, option):
    with pytest.raises(KafkaConfigurationError, match=option) as caught:
        ConsumerConfig.from_options(given)
    assert caught.value.option in {option, None}
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("sasl.jaas.config", "sasl_plain_username"),
        ("ssl.truststore.location", "ssl_cafile"),
        ("ssl.keystore.location", "ssl_certfile"),
        ("ssl.keystore.password", "ssl_certfile"),
        ("ssl.endpoint.identification.algorithm", "ssl_check_hostname"),
        ("ssl.enabled.protocols", "ssl_context"),
        ("sasl.oauthbearer.jwks.endpoint.url", "brokers judge them"),
        ("sasl.kerberos.kinit.cmd", "sasl_kerberos_keytab"),
    ],
)
def test_java_options_without_a_counterpart_say_what_to_give(name, instead):
    with pytest.raises(KafkaConfigurationError, match=instead) as caught:
        ConsumerConfig.from_options({name: SECRET})
    assert SECRET not in str(caught.value)


PEM = "-----BEGIN X-----\nabc\n-----END X-----\n"


def test_pem_texts_under_java_names():
    config = make(
        **{
            "security.protocol": "SSL",
            "ssl.truststore.certificates": PEM,
            "ssl.keystore.certificate.chain": PEM.encode(),
            "ssl.keystore.key": PEM.strip().replace("\n", "\\n"),
            "ssl.key.password": SECRET,
        }
    )
    assert config.ssl_cadata == config.ssl_certdata == PEM
    assert config.ssl_keydata == PEM.strip()
    assert config.ssl_password == SECRET
    assert config.as_mapping()["ssl_keydata"] == "[hidden]"
    assert "abc" not in repr(config)


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"ssl_cadata": PEM, "ssl_cafile": "x"}, "ssl_cadata"),
        ({"ssl_certdata": PEM, "ssl_certfile": "x"}, "ssl_certdata"),
        ({"ssl_keydata": PEM}, "ssl_keydata"),
        ({"ssl_cadata": SECRET}, "ssl_cadata"),
        ({"ssl_keydata": 3}, "ssl_keydata"),
    ],
)
def test_pem_texts_that_contradict_or_are_none(given, option):
    with pytest.raises(KafkaConfigurationError, match=option) as caught:
        make(security_protocol="SSL", **given)
    assert SECRET not in str(caught.value)


class Provider:
    def token(self):
        return "abc"


ENDPOINT = {
    "sasl_mechanism": "OAUTHBEARER",
    "security_protocol": "SASL_SSL",
    "sasl.oauthbearer.token.endpoint.url": "https://id.example/token",
    "sasl.oauthbearer.client.credentials.client.id": "me",
    "sasl.oauthbearer.client.credentials.client.secret": SECRET,
}


def test_tokens_come_from_a_provider():
    provider = Provider()
    config = make(
        security_protocol="SASL_SSL",
        sasl_mechanism="oauthbearer",
        sasl_oauth_token_provider=provider,
    )
    assert config.links().credentials == Credentials("OAUTHBEARER", "", "")
    assert config.sasl_oauth_token_provider is provider


def test_tokens_come_from_an_endpoint_under_java_and_librdkafkas_names():
    config = make(**ENDPOINT, **{"sasl.oauthbearer.extensions": "logicalCluster=a, pool = b=c"})
    assert config.sasl_oauthbearer_token_endpoint_url == "https://id.example/token"
    assert config.sasl_oauthbearer_extensions == {"logicalCluster": "a", "pool": "b=c"}
    hidden = "sasl_oauthbearer_client_credentials_client_secret"
    assert config.as_mapping()[hidden] == "[hidden]"
    assert SECRET not in repr(config)
    short = {name.replace(".client.credentials", ""): value for name, value in ENDPOINT.items()}
    short["sasl.oauthbearer.method"] = "oidc"  # there it has to be said
    assert make(**short).sasl_oauthbearer_client_credentials_client_secret == SECRET


@pytest.mark.parametrize(
    ("change", "option"),
    [
        ({"sasl_mechanism": "PLAIN"}, "sasl_oauthbearer_token_endpoint_url"),
        ({"sasl_plain_username": "a"}, "sasl_plain_username"),
        ({"sasl_oauth_token_provider": Provider()}, "sasl_oauthbearer_token_endpoint_url"),
        ({"sasl.oauthbearer.token.endpoint.url": None}, "sasl_oauth_token_provider"),
        (
            {"sasl.oauthbearer.client.credentials.client.id": None},
            "sasl_oauthbearer_client_credentials_client_id",
        ),
        (
            {"sasl.oauthbearer.client.credentials.client.secret": None},
            "sasl_oauthbearer_client_credentials_client_secret",
        ),
        ({"sasl.oauthbearer.method": "default"}, "sasl_oauthbearer_method: 'oidc' is"),
        ({"sasl.oauthbearer.extensions": "a-b=c"}, "sasl_oauthbearer_extensions"),
        ({"sasl.oauthbearer.extensions": "abc"}, "sasl_oauthbearer_extensions"),
        ({"sasl.oauthbearer.extensions": 3}, "sasl_oauthbearer_extensions"),
        ({"security_protocol": "SSL"}, "sasl_mechanism"),
    ],
)
def test_options_of_tokens_that_contradict(change, option):
    options = {name: value for name, value in {**ENDPOINT, **change}.items() if value is not None}
    with pytest.raises(KafkaConfigurationError, match=option) as caught:
        make(**options)
    assert SECRET not in str(caught.value)


PACKAGE = "org.apache.kafka.common.security.oauthbearer"
URL = {"token_endpoint_url": "https://id.example/token"}
FILE = {"token_endpoint_url": "file:///var/run/token"}
KEY = {"assertion_private_key_file": "key.pem"}
BEARER = {"jwt_retriever_class": f"{PACKAGE}.JwtBearerJwtRetriever"}
GRANT = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}
CLIENT = {"client_credentials_client_id": "me"}
LOGIN = {**CLIENT, "client_credentials_client_secret": SECRET}


def of_tokens(**options):
    named = {f"sasl_oauthbearer_{name}": value for name, value in options.items()}
    return make(security_protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", **named)


@pytest.mark.parametrize(
    ("options", "source"),
    [
        ({**URL, **LOGIN, "header_urlencode": "true"}, Source.SECRET),
        ({**URL, **LOGIN, "grant_type": "client_credentials"}, Source.SECRET),
        ({**FILE, "extensions": "a=b"}, Source.FILE),
        ({**FILE, "jwt_retriever_class": "FileJwtRetriever"}, Source.FILE),
        ({**URL, **KEY, "assertion_claim_iss": "me"}, Source.CLIENT_ASSERTION),
        ({**URL, **CLIENT, "assertion_file": "a"}, Source.CLIENT_ASSERTION),
        ({**URL, **KEY, **BEARER, "scope": "s"}, Source.BEARER_ASSERTION),
        ({**URL, **GRANT, "assertion_file": "a"}, Source.BEARER_ASSERTION),
    ],
)
def test_where_tokens_come_from(options, source):
    config = of_tokens(**options)
    assert source_of(config) is source
    if source is Source.BEARER_ASSERTION:
        assert config.sasl_oauthbearer_jwt_retriever_class == "JwtBearerJwtRetriever"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({**URL, **LOGIN, **KEY}, "client_secret and an endpoint asked with an assertion"),
        ({**URL, **LOGIN, **BEARER, **KEY}, "client_id and JwtBearerJwtRetriever"),
        ({**URL, **BEARER, **KEY, "header_urlencode": True}, "header_urlencode and JwtBearer"),
        ({**URL, **BEARER}, "needs sasl_oauthbearer_assertion_private_key_file"),
        ({**URL, "assertion_claim_iss": "me"}, "needs sasl_oauthbearer_assertion_private_key_file"),
        ({**URL, **CLIENT}, "needs sasl_oauthbearer_client_credentials_client_secret"),
        ({**URL, **KEY, "assertion_private_key_pem": PEM}, "one of them says it"),
        ({**URL, **KEY, "assertion_file": "a"}, "the file is the whole assertion"),
        ({**URL, "assertion_file": "a", "assertion_claim_sub": "b"}, "the file is the whole"),
        ({**FILE, **LOGIN}, "client_id and a file with a token"),
        ({**FILE, "scope": "s"}, "scope and a file with a token"),
        ({**FILE, **BEARER, **KEY}, "is a file, which DefaultJwtRetriever and File"),
        ({**FILE, **LOGIN, "grant_type": "client_credentials"}, "is a file, which"),
        ({**URL, "jwt_retriever_class": "FileJwtRetriever"}, "FileJwtRetriever reads file:///path"),
        ({**URL, **LOGIN, "jwt_retriever_class": f"{PACKAGE}.Mine"}, "a class of yours"),
        ({**URL, **LOGIN, "jwt_retriever_class": "com.me.DefaultJwtRetriever"}, "a class of yours"),
        ({**URL, **LOGIN, "grant_type": "password"}, "jwt_retriever_class|grant_type"),
        ({"assertion_file": "a"}, "needs sasl_oauth_token_provider, or"),
        ({**URL, **KEY, "assertion_algorithm": "none"}, "RS256"),
        ({**URL, **KEY, "assertion_algorithm": "HS256"}, "RS256"),
        ({**URL, **KEY, "assertion_claim_exp_seconds": 86_401}, "86400"),
        ({**URL, **KEY, "assertion_claim_nbf_seconds": 3_601}, "3600"),
        ({**URL, "assertion_private_key_pem": SECRET}, "text of a PEM file"),
    ],
)
def test_ways_to_tokens_that_contradict(options, why):
    with pytest.raises(KafkaConfigurationError, match=why) as caught:
        of_tokens(**options)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["file:token", "file://host/token", "file:///a?b", "file:///a#b", "file:", "file://"]
)
def test_files_that_are_none(address):
    with pytest.raises(KafkaConfigurationError, match="file:///path"):
        of_tokens(token_endpoint_url=address)


@pytest.mark.parametrize(
    "address", ["ftp://x/", "https://", "id.example/token", "https://a b/", "http://[::1", 3, ""]
)
def test_addresses_that_are_none(address):
    with pytest.raises(KafkaConfigurationError, match=r"https://host/path"):
        make(**{**ENDPOINT, "sasl.oauthbearer.token.endpoint.url": address})


def test_an_address_with_a_password_is_refused_without_it():
    address = f"https://me:{SECRET}@id.example/token"
    with pytest.raises(KafkaConfigurationError, match="options of their own") as caught:
        make(**{**ENDPOINT, "sasl.oauthbearer.token.endpoint.url": address})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("provider", [object(), "token", Provider, SimpleNamespace(token="abc")])
def test_providers_without_a_token(provider):
    with pytest.raises(KafkaConfigurationError, match=r"token\(\)"):
        make(
            security_protocol="SASL_SSL",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=provider,
        )


def test_secrets_are_in_no_repr_and_no_mapping():
    config = make(security_protocol="SASL_SSL", **SASL, ssl_certfile="c.pem", ssl_password=SECRET)
    mapping = config.as_mapping()
    assert mapping["sasl_plain_password"] == mapping["ssl_password"] == "[hidden]"
    assert mapping["sasl_plain_username"] == "alice"
    assert make().as_mapping()["sasl_plain_password"] is None
    for shown in (repr(config), str(mapping), repr(config.links())):
        assert SECRET not in shown


# Kerberos -----------------------------------------------------------------------------------------

KERBEROS = {"security_protocol": "SASL_SSL", "sasl_mechanism": "GSSAPI"}


def test_kerberos_needs_no_option_of_its_own():
    config = make(**KERBEROS)
    assert config.links().credentials == Credentials("GSSAPI", "", "")
    assert config.sasl_kerberos_service_name == "kafka"
    assert config.as_mapping()["sasl_kerberos_keytab"] is None


def test_kerberos_under_java_and_librdkafkas_names(tmp_path):
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "gssapi",
        "sasl.kerberos.service.name": "bus",
        "sasl.kerberos.keytab": "FILE:/etc/me.keytab",
        "sasl.kerberos.principal": "me@REALM",
        "sasl.kerberos.min.time.before.relogin": "60000",
        "sasl.kerberos.kinit.cmd": "/usr/bin/kinit",
    }
    config = make(**options)
    assert config.sasl_kerberos_service_name == "bus"
    assert config.sasl_kerberos_keytab == "/etc/me.keytab"
    assert config.sasl_kerberos_principal == "me@REALM"
    keytab = tmp_path / "x"
    assert make(**KERBEROS, sasl_kerberos_keytab=keytab).sasl_kerberos_keytab == str(keytab)


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"sasl_plain_password": SECRET}, "sasl_plain_password"),
        ({"sasl_oauth_token_provider": Provider()}, "sasl_oauth_token_provider"),
        ({"sasl_kerberos_service_name": ""}, "sasl_kerberos_service_name"),
        ({"sasl_kerberos_service_name": None}, "sasl_kerberos_service_name"),
        ({"sasl_kerberos_name": object()}, "sasl_kerberos_name"),
        ({"sasl_kerberos_name": ""}, "sasl_kerberos_name"),
        ({"sasl_kerberos_keytab": 3}, "sasl_kerberos_keytab"),
        ({"sasl_kerberos_principal": "a\0b"}, "sasl_kerberos_principal"),
        (
            {"sasl_kerberos_name": "kafka@a", "sasl_kerberos_domain_name": "b"},
            "sasl_kerberos_domain_name",
        ),
        (
            {"sasl_kerberos_name": "kafka@a", "sasl_kerberos_service_name": "b"},
            "sasl_kerberos_service_name",
        ),
        ({**SASL, "sasl_kerberos_keytab": "k"}, "sasl_kerberos_keytab"),
        ({"security_protocol": "SSL"}, "sasl_mechanism"),
    ],
)
def test_options_of_kerberos_that_contradict(given, option):
    with pytest.raises(KafkaConfigurationError, match=option) as caught:
        make(**{**KERBEROS, **given})
    assert caught.value.option == option
    assert SECRET not in str(caught.value)
