"""Through Spark to a Kafka with SASL and TLS, by Java's options; passwords stay out of everything
that is kept or printed.
"""

import logging
from pathlib import Path

import jwt
import pytest
import real_proxies as proxies
from admins import until
from certificates import missing
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pyspark.errors import PySparkException
from real_proxies import RealProxy
from secure_kafka import PASSWORD, USER, SecureKafka, unsigned_token
from spark_processes import standalone_cluster
from spark_support import Collected, load, save, security, words
from token_endpoint import TokenEndpoint

from kcore import Admin

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kafka,
    pytest.mark.timeout(400),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]


WRITTEN = {b"%d" % number for number in range(20)}  # to `t`; the job on a cluster adds to it


def values(frame):
    return {row.value for row in frame.collect()}


@pytest.fixture(scope="module")
def kafka(spark):
    with SecureKafka() as kafka:
        kafka.create_topic("t")
        kafka.produce("t", [(None, b"%d" % number) for number in range(20)])
        yield kafka


def test_read_and_written_and_the_password_is_kept_nowhere(spark, kafka, tmp_path, capfd, caplog):
    caplog.set_level(logging.INFO)  # below that py4j writes every call down, of whomever
    caplog.set_level(logging.DEBUG, "kcore")
    address, secure = kafka.address("SASLTLS"), security(kafka)
    rows = load(spark, address, subscribe="t", **secure)
    assert [value for *_, value in words(rows)] == sorted(
        (b"%d" % number for number in range(20)), key=int
    )
    kafka.create_topic("written")  # `t` stays as it is for the others
    save(spark.sql("select 'x' as value"), address, topic="written", **secure)
    wanted = {"subscribe": "t,written", "startingOffsets": "earliest", **secure}
    run = Collected(spark, address, tmp_path, **wanted).wait()
    assert len(run.rows) == 21
    progress = "".join(one.json for one in run.query.recentProgress)
    said = "".join(
        [*capfd.readouterr(), caplog.text, progress, rows._jdf.queryExecution().toString()]
    )
    assert PASSWORD not in said
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if PASSWORD.encode() in path.read_bytes()]


def test_through_a_proxy_whose_password_is_kept_nowhere(spark, kafka, tmp_path, capfd, caplog):
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, "kcore")
    kafka.create_topic("proxied")
    secure = security(kafka)
    with RealProxy("pproxy", asks=True) as proxy:
        secure["kafka.proxy.url"] = proxy.url("socks5h")
        address = kafka.address("SASLTLS")
        save(spark.sql("select 'x' as value"), address, topic="proxied", **secure)
        rows = load(spark, address, subscribe="proxied", **secure)
        assert [value for *_, value in words(rows)] == [b"x"]
        wanted = {"subscribe": "proxied", "startingOffsets": "earliest", **secure}
        run = Collected(spark, address, tmp_path, **wanted).wait()
        assert len(run.rows) == 1
        wrong = {**secure, "kafka.proxy.url": proxy.url("http", f"me:{proxies.PASSWORD}x@")}
        with pytest.raises(PySparkException, match="ProxyAuthenticationError") as caught:
            load(spark, address, subscribe="proxied", **wrong).collect()
        plan = rows._jdf.queryExecution().toString()
        said = "".join([*capfd.readouterr(), caplog.text, str(caught.value), plan])
        kept = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert kept
        for secret in (proxies.PASSWORD, proxies.PLAIN_PASSWORD):
            assert secret not in said
            assert not [path for path in kept if secret.encode() in path.read_bytes()]


def test_on_a_cluster_no_file_has_the_password(kafka, tmp_path):
    """Logs of driver, master, workers and executors at INFO, the event log, which holds every plan,
    and the checkpoint.
    """
    login = tmp_path.with_name(f"{tmp_path.name}.jaas")
    login.write_text(security(kafka)["kafka.sasl.jaas.config"])
    events = tmp_path / "events"
    events.mkdir()
    kafka.create_topic("copy")
    with standalone_cluster(tmp_path) as cluster:
        job = cluster.submit(
            tmp_path / "driver.log",
            str(Path(__file__).with_name("secret_pipeline.py")),
            *(kafka.address("SASLTLS"), str(tmp_path), str(kafka.certificates.ca), str(login)),
            settings={
                "spark.eventLog.enabled": "true",
                "spark.eventLog.compress": "false",  # or nothing can be found in it
                "spark.eventLog.dir": events.as_uri(),
                "spark.log.level": "INFO",
            },
        )
        try:
            assert job.wait(300) == 0, job.said()
        finally:
            job.kill()
    said = job.said()
    assert said.count("\nrows: 20\n") == 1
    assert said.count("\nfailed: ") == 2
    assert "there is no topic none" in said
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    names = {path.relative_to(tmp_path).parts[0] for path in kept}
    assert names >= {"driver.log", "master.log", "worker-0.log", "work-0", "events", "checkpoint"}
    (plans,) = (text for path, text in kept.items() if path.name.startswith("events_1"))
    assert b"kcore" in plans
    assert [path for path, text in kept.items() if PASSWORD.encode() in text] == []


def test_a_wrong_password_is_said_without_it(spark, kafka):
    wrong = security(kafka, "wrong-password-17")
    with pytest.raises(PySparkException, match=r"(?i)authenticat") as caught:
        load(spark, kafka.address("SASLTLS"), subscribe="t", **wrong).collect()
    assert "wrong-password-17" not in str(caught.value)


def test_a_delegation_token(spark, kafka, tmp_path, capfd):
    """Made by an Admin of whoever has the password; the job has the token alone."""
    kafka.create_topic("delegated")
    address = kafka.address("SASLTLS")
    with Admin(
        bootstrap_servers=address,
        security_protocol="SASL_SSL",
        ssl_cafile=str(kafka.certificates.ca),
        sasl_mechanism="SCRAM-SHA-512",
        sasl_plain_username=USER,
        sasl_plain_password=PASSWORD,
    ) as admin:
        token = admin.create_delegation_token()
        until(lambda: token in admin.describe_delegation_token(), True)
        code = token.hmac_as_base64_string
        secure = security(kafka)
        secure["kafka.sasl.jaas.config"] = (
            "org.apache.kafka.common.security.scram.ScramLoginModule required "
            f'username="{token.token_id}" password="{code}" tokenauth="true";'
        )
        save(spark.sql("select 'x' as value"), address, topic="delegated", **secure)
        rows = load(spark, address, subscribe="delegated", **secure)
        assert [value for *_, value in words(rows)] == [b"x"]
        plain = {**secure, "kafka.sasl.jaas.config": secure["kafka.sasl.jaas.config"][:-18] + ";"}
        with pytest.raises(PySparkException, match=r"(?i)authenticat") as caught:
            load(spark, address, subscribe="delegated", **plain).collect()
        admin.expire_delegation_token(token)
    said = "".join([*capfd.readouterr(), str(caught.value), rows._jdf.queryExecution().toString()])
    assert code not in said


def test_tokens_of_an_endpoint(spark, kafka):
    """Driver and workers each ask for theirs."""
    kafka.create_topic("by-token")
    with TokenEndpoint() as endpoint:
        token = {"access_token": unsigned_token(600), "expires_in": 600}
        endpoint.answer = (200, token, {})
        login = 'OAuthBearerLoginModule required clientId="me" clientSecret="very-secret";'
        secure = {
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "OAUTHBEARER",
            "kafka.sasl.oauthbearer.token.endpoint.url": endpoint.url,
            "kafka.sasl.jaas.config": f"org.apache.kafka.common.security.oauthbearer.{login}",
        }
        address = kafka.address("BEARER")
        save(spark.sql("select 'x' as value"), address, topic="by-token", **secure)
        assert [value for *_, value in words(load(spark, address, subscribe="by-token", **secure))]
        assert values(load(spark, address, subscribe="t", **secure)) >= WRITTEN
        assert {who for who, _ in endpoint.asked} == {"Basic bWU6dmVyeS1zZWNyZXQ="}
        endpoint.answer = (401, {"error": "invalid_client"}, {})
        with pytest.raises(PySparkException, match="401") as caught:
            load(spark, address, subscribe="t", **secure).collect()
    assert "very-secret" not in str(caught.value)


def test_tokens_for_assertions(spark, kafka, tmp_path):
    """Driver and workers sign with the same key."""
    key = tmp_path / "key.pem"
    made = ec.generate_private_key(ec.SECP256R1())
    plain = serialization.NoEncryption()
    pem = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    key.write_bytes(made.private_bytes(*pem, plain))
    token = {"access_token": unsigned_token(600), "expires_in": 600}

    def answer(_login, form):
        jwt.decode(form["assertion"][0], made.public_key(), ["ES256"])
        return 200, token, {}

    with TokenEndpoint() as endpoint:
        endpoint.answer = answer
        oauth = "org.apache.kafka.common.security.oauthbearer"
        secure = {
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "OAUTHBEARER",
            "kafka.sasl.oauthbearer.token.endpoint.url": endpoint.url,
            "kafka.sasl.oauthbearer.jwt.retriever.class": f"{oauth}.JwtBearerJwtRetriever",
            "kafka.sasl.oauthbearer.assertion.algorithm": "ES256",
            "kafka.sasl.oauthbearer.assertion.private.key.file": str(key),
            "kafka.sasl.oauthbearer.assertion.claim.iss": "me",
            "kafka.sasl.jaas.config": f"{oauth}.OAuthBearerLoginModule required;",
        }
        address = kafka.address("BEARER")
        assert values(load(spark, address, subscribe="t", **secure)) >= WRITTEN
        assert len(endpoint.asked) >= 2


def test_certificates_as_texts(spark, kafka):
    certificates = kafka.certificates
    secure = {
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": certificates.ca.read_text(),
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": certificates.client.read_text(),
        "kafka.ssl.keystore.key": certificates.key("client").read_text(),
    }
    assert values(load(spark, kafka.address("MTLS"), subscribe="t", **secure)) >= WRITTEN
