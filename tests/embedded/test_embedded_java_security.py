"""Java's clients and tools against an embedded broker with TLS and SASL."""

import subprocess

import certificates
import pytest
from distinguished_names import NAMES, der_certificate

from kcore.cli.demo.java import TOOLS
from kcore.embedded import EmbeddedBroker

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.skipif(certificates.missing() is not None, reason=str(certificates.missing())),
]

MODULES = "org.apache.kafka.common.security"


def jaas(mechanism, user="alice", password="secret"):
    module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    return f'{MODULES}.{module}LoginModule required username="{user}" password="{password}";'


def settings(protocol, mechanism, folder, broker, **more):
    found = {"security.protocol": protocol}
    if protocol.startswith("SASL"):
        found |= {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas(mechanism, **more)}
    if protocol.endswith("SSL"):
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": broker.ssl_cafile}
    path = folder / "client.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in found.items()))
    return str(path)


@pytest.fixture
def run(installation):
    def run(broker, name, *args, data=None, fails=False):
        server = ("--bootstrap-server", broker.bootstrap)
        command = installation.command(TOOLS[name], *server, *args)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, input=data)
        said = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, said
        return said

    return run


@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [("SSL", ""), ("SASL_PLAINTEXT", "PLAIN"), ("SASL_SSL", "SCRAM-SHA-256"),
     ("SASL_SSL", "SCRAM-SHA-512")],
)  # fmt: skip
def test_java_writes_and_reads(run, tmp_path, protocol, mechanism):
    users = {"sasl_users": {"alice": "secret"}} if mechanism else {}
    with EmbeddedBroker(security_protocol=protocol, **users) as broker:
        broker.create_topic("t")
        config = settings(protocol, mechanism, tmp_path, broker)
        topic = ("--topic", "t")
        run(broker, "kafka-console-producer", *topic, "--command-config", config, data="one\ntwo\n")
        read = ("--from-beginning", "--max-messages", "2", "--timeout-ms", "20000")
        said = run(broker, "kafka-console-consumer", *topic, "--command-config", config, *read)
        assert "one\ntwo\n" in said
        assert not broker.faults


def test_kafka_configs_alters_users(run, tmp_path):
    with EmbeddedBroker(security_protocol="SASL_SSL", sasl_users={"alice": "secret"}) as broker:
        own = ("--command-config", settings("SASL_SSL", "PLAIN", tmp_path, broker))
        user = ("--entity-type", "users", "--entity-name", "bob")
        given = "SCRAM-SHA-512=[iterations=8192,password=b0b]"
        run(broker, "kafka-configs", *own, "--alter", *user, "--add-config", given)
        said = run(broker, "kafka-configs", *own, "--describe", *user)
        assert "for user-principal 'bob' are SCRAM-SHA-512=iterations=8192" in said
        bobs = {"user": "bob", "password": "b0b"}
        own = ("--command-config", settings("SASL_SSL", "SCRAM-SHA-512", tmp_path, broker, **bobs))
        run(broker, "kafka-configs", *own, "--alter", *user, "--delete-config", "SCRAM-SHA-512")
        said = run(broker, "kafka-topics", *own, "--list", fails=True)
        assert "due to invalid credentials with SASL mechanism SCRAM-SHA-512" in said


def of_token(token_id, code, folder, broker):
    own = settings("SASL_SSL", "SCRAM-SHA-256", folder, broker, user=token_id, password=code)
    path = folder / "client.properties"
    path.write_text(path.read_text().replace('";', '" tokenauth="true";'))
    return ("--command-config", own)


def test_kafkas_own_tool_gives_tokens_and_javas_clients_log_in_with_them(run, tmp_path):
    tokens = {"delegation_token_secret_key": "only for tests"}
    users = {"alice": "secret", "bob": "secret"}
    with EmbeddedBroker(security_protocol="SASL_SSL", sasl_users=users, **tokens) as broker:
        broker.create_topic("t")

        def by(*args, user="alice", fails=False):
            own = settings("SASL_SSL", "PLAIN", tmp_path, broker, user=user)
            more = ("--command-config", own, *args)
            return run(broker, "kafka-delegation-tokens", *more, fails=fails)

        made = by("--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob")
        (row,) = [line.split() for line in made.splitlines() if "User:alice" in line]
        token_id, code = row[:2]
        told = by("--describe", "--owner-principal", "User:alice")
        assert token_id in told
        assert "User:bob" in told
        with_it = of_token(token_id, code, tmp_path, broker)
        topic = ("--topic", "t")
        run(broker, "kafka-console-producer", *topic, *with_it, data="one\ntwo\n")
        read = ("--from-beginning", "--max-messages", "2", "--timeout-ms", "20000")
        assert "one\ntwo\n" in run(broker, "kafka-console-consumer", *topic, *with_it, *read)
        more = ("--create", "--max-life-time-period", "-1", *with_it)
        refused = run(broker, "kafka-delegation-tokens", *more, fails=True)
        assert "not allowed" in refused
        period = ("--renew-time-period", "-1", "--hmac", code)
        assert "Completed renew" in by("--renew", *period, user="bob")
        by("--expire", "--expiry-time-period", "-1", "--hmac", code)
        with_it = of_token(token_id, code, tmp_path, broker)
        gone = run(broker, "kafka-topics", "--list", *with_it, fails=True)
        assert "due to invalid credentials with SASL mechanism SCRAM-SHA-256" in gone
        assert "not found" in by("--renew", *period, fails=True).lower()
        assert not broker.faults


NAME_PRINTER = """
import java.io.*;
import java.security.cert.*;
public class PrintNames {
    public static void main(String[] paths) throws Exception {
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        for (String path : paths) {
            try (InputStream in = new FileInputStream(path)) {
                X509Certificate found = (X509Certificate) factory.generateCertificate(in);
                out.println(found.getSubjectX500Principal().getName());
            }
        }
    }
}
"""


def test_java_writes_names_like_that(installation, tmp_path):
    source = tmp_path / "PrintNames.java"
    source.write_text(NAME_PRINTER)
    paths = []
    for number, subj in enumerate(NAMES):
        folder = tmp_path / str(number)
        folder.mkdir()
        der_certificate(folder, subj)
        paths.append(str(folder / "one.der"))
    command = [installation.java, str(source), *paths]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert done.stdout.decode().splitlines() == list(NAMES.values())
