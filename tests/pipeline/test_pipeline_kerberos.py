"""What a Krb5LoginModule says, as people have it for Spark's own source."""

import pytest

from kcore.consumer.config import ConsumerConfig
from kcore.pipeline.errors import OptionError
from kcore.pipeline.options import sink_options, source_options

SERVERS = {"kafka.bootstrap.servers": "a:9092"}


def stream(**options):
    return source_options({**SERVERS, "subscribe": "t", **options}, streaming=True)


KERBEROS = {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "GSSAPI"}
KRB5 = "com.sun.security.auth.module.Krb5LoginModule"


@pytest.mark.parametrize(
    ("jaas", "keytab", "principal", "service"),
    [
        (
            """useKeyTab=true storeKey=true keyTab="/etc/me.keytab" principal="me@R.TEST"
            useTicketCache=false serviceName="bus" debug=true doNotPrompt=true""",
            "/etc/me.keytab",
            "me@R.TEST",
            "bus",
        ),
        ("useTicketCache=true renewTGT=false", None, None, "kafka"),
        ("useTicketCache=true principal='me' keyTab=unread", None, "me", "kafka"),
        ("useKeyTab=true useTicketCache=true\n keyTab=./me.keytab", "./me.keytab", None, "kafka"),
    ],
)
def test_jaas_of_kerberos(jaas, keytab, principal, service):
    options = {**KERBEROS, "kafka.sasl.jaas.config": f"{KRB5} required {jaas};"}
    for found in (stream(**options).client, sink_options({**SERVERS, **options}).client):
        config = ConsumerConfig.from_options(
            {name: value for name, value in found.items() if name.startswith("sa") or "sec" in name}
        )
        assert config.sasl_kerberos_keytab == keytab
        assert config.sasl_kerberos_principal == principal
        assert config.sasl_kerberos_service_name == service


def test_the_service_of_kerberos_as_an_option_of_its_own():
    jaas = f"{KRB5} required useTicketCache=true serviceName=bus;"
    same = {**KERBEROS, "kafka.sasl.kerberos.service.name": "bus"}
    found = stream(**same, **{"kafka.sasl.jaas.config": jaas}).client
    assert found["sasl_kerberos_service_name"] == "bus"
    assert stream(**same).client["sasl_kerberos_service_name"] == "bus"


@pytest.mark.parametrize(
    ("jaas", "said"),
    [
        ("", "useKeyTab=true or useTicketCache=true"),
        ("useKeyTab=true", "needs keyTab"),
        ("useKeyTab=maybe keyTab=x", "useKeyTab must be true or false"),
        ("useTicketCache=true ticketCache=/x", "ticketCache is not available.*KRB5CCNAME"),
        ("useTicketCache=true renewTGT=true", "renewTGT is not available.*kinit -R"),
        ("useKeyTab=true keyTab=x isInitiator=false", "isInitiator is not available"),
        ("useTicketCache=true useFirstPass=true", "useFirstPass is not known"),
        ("useTicketCache=true serviceName=other", "has another serviceName"),
    ],
)
def test_jaas_of_kerberos_that_cannot_be_read(jaas, said):
    options = {**KERBEROS, "kafka.sasl.kerberos.service.name": "bus"}
    with pytest.raises(OptionError, match=said):
        stream(**options, **{"kafka.sasl.jaas.config": f"{KRB5} required {jaas};"})
