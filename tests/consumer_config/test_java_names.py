"""Every option of Java's clients (Kafka 4): it works, has no effect, or is refused on purpose, with
what to give; none is unknown. Names and defaults of ConsumerConfig, ProducerConfig and what they
share, kept as data so that the test stands alone. None: Java has none, or one that nobody gives.
"""

import pytest

from kcore.admin.config import AdminConfig
from kcore.consumer.config import ConsumerConfig
from kcore.errors import KafkaConfigurationError
from kcore.pipeline.errors import OptionError
from kcore.pipeline.options import sink_options, source_options
from kcore.producer.config import ProducerConfig
from kcore.settings.java import is_default
from kcore.settings.names import ALIASES
from kcore.share.config import ShareConsumerConfig

COMMON = {
    "bootstrap.servers": None,
    "client.dns.lookup": "use_all_dns_ips",
    "metadata.max.age.ms": "300000",
    "client.id": None,
    "send.buffer.bytes": "131072",
    "receive.buffer.bytes": "65536",
    "reconnect.backoff.ms": "50",
    "reconnect.backoff.max.ms": "1000",
    "retry.backoff.ms": "100",
    "retry.backoff.max.ms": "1000",
    "enable.metrics.push": "true",
    "metrics.sample.window.ms": "30000",
    "metrics.num.samples": "2",
    "metrics.recording.level": "INFO",
    "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter",
    "request.timeout.ms": "30000",
    "socket.connection.setup.timeout.ms": "10000",
    "socket.connection.setup.timeout.max.ms": "30000",
    "connections.max.idle.ms": "540000",
    "interceptor.classes": None,
    "security.providers": None,
    "security.protocol": "PLAINTEXT",
    "metadata.recovery.strategy": "rebootstrap",
    "ssl.protocol": "TLSv1.3",
    "ssl.provider": None,
    "ssl.cipher.suites": None,
    "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    "ssl.keystore.type": None,
    "ssl.keystore.location": None,
    "ssl.keystore.password": None,
    "ssl.key.password": None,
    "ssl.keystore.key": None,
    "ssl.keystore.certificate.chain": None,
    "ssl.truststore.certificates": None,
    "ssl.truststore.type": None,
    "ssl.truststore.location": None,
    "ssl.truststore.password": None,
    "ssl.keymanager.algorithm": "SunX509",
    "ssl.trustmanager.algorithm": "PKIX",
    "ssl.endpoint.identification.algorithm": "https",
    "ssl.secure.random.implementation": None,
    "ssl.engine.factory.class": None,
    "sasl.mechanism": None,
    "sasl.jaas.config": None,
    "sasl.client.callback.handler.class": None,
    "sasl.login.callback.handler.class": None,
    "sasl.login.class": None,
    "sasl.kerberos.service.name": None,
    "sasl.kerberos.kinit.cmd": "/usr/bin/kinit",
    "sasl.kerberos.ticket.renew.window.factor": "0.80",
    "sasl.kerberos.ticket.renew.jitter": "0.05",
    "sasl.kerberos.min.time.before.relogin": "60000",
    "sasl.login.refresh.window.factor": "0.80",
    "sasl.login.refresh.window.jitter": "0.05",
    "sasl.login.refresh.min.period.seconds": "60",
    "sasl.login.refresh.buffer.seconds": "300",
    "sasl.login.connect.timeout.ms": None,
    "sasl.login.read.timeout.ms": None,
    "sasl.login.retry.backoff.max.ms": "10000",
    "sasl.login.retry.backoff.ms": "100",
    "sasl.oauthbearer.scope.claim.name": "scope",
    "sasl.oauthbearer.sub.claim.name": "sub",
    "sasl.oauthbearer.token.endpoint.url": None,
    "sasl.oauthbearer.jwks.endpoint.url": None,
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "3600000",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "10000",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "100",
    "sasl.oauthbearer.clock.skew.seconds": "30",
    "sasl.oauthbearer.expected.audience": None,
    "sasl.oauthbearer.expected.issuer": None,
    "sasl.oauthbearer.allow.unverified.audience": "false",
    "sasl.oauthbearer.allow.unverified.issuer": "false",
    "sasl.oauthbearer.header.urlencode": "false",
    "metadata.recovery.rebootstrap.trigger.ms": "300000",
    "config.providers": None,
    "sasl.oauthbearer.jwt.retriever.class": (
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"
    ),
    "sasl.oauthbearer.jwt.validator.class": (
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"
    ),
    "sasl.oauthbearer.scope": None,
    "sasl.oauthbearer.client.credentials.client.id": None,
    "sasl.oauthbearer.client.credentials.client.secret": None,
    "sasl.oauthbearer.assertion.algorithm": "RS256",
    "sasl.oauthbearer.assertion.claim.aud": None,
    "sasl.oauthbearer.assertion.claim.exp.seconds": "300",
    "sasl.oauthbearer.assertion.claim.iss": None,
    "sasl.oauthbearer.assertion.claim.jti.include": "false",
    "sasl.oauthbearer.assertion.claim.nbf.seconds": "60",
    "sasl.oauthbearer.assertion.claim.sub": None,
    "sasl.oauthbearer.assertion.file": None,
    "sasl.oauthbearer.assertion.private.key.file": None,
    "sasl.oauthbearer.assertion.private.key.passphrase": None,
    "sasl.oauthbearer.assertion.template.file": None,
    "bootstrap.resolve.timeout.ms": "0",
    "metadata.cluster.check.enable": None,
}
CONSUMERS = {
    "group.id": None,
    "group.instance.id": None,
    "session.timeout.ms": "45000",
    "heartbeat.interval.ms": "3000",
    "partition.assignment.strategy": (
        "org.apache.kafka.clients.consumer.RangeAssignor,"
        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    ),
    "enable.auto.commit": "true",
    "auto.commit.interval.ms": "5000",
    "client.rack": None,
    "max.partition.fetch.bytes": "1048576",
    "fetch.min.bytes": "1",
    "fetch.max.bytes": "52428800",
    "fetch.max.wait.ms": "500",
    "auto.offset.reset": "latest",
    "check.crcs": "true",
    "key.deserializer": None,
    "value.deserializer": None,
    "default.api.timeout.ms": "60000",
    "max.poll.records": "500",
    "max.poll.interval.ms": "300000",
    "exclude.internal.topics": "true",
    "internal.leave.group.on.close": "true",
    "internal.throw.on.fetch.stable.offset.unsupported": "false",
    "isolation.level": "read_uncommitted",
    "allow.auto.create.topics": "true",
    "group.protocol": "classic",
    "group.remote.assignor": None,
    "share.acknowledgement.mode": "implicit",
    "share.acquire.mode": "batch_optimized",
}
PRODUCERS = {
    "acks": "all",
    "batch.size": "16384",
    "buffer.memory": "33554432",
    "compression.type": "none",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.zstd.level": "3",
    "delivery.timeout.ms": "120000",
    "enable.idempotence": "true",
    "key.serializer": None,
    "value.serializer": None,
    "linger.ms": "5",
    "max.block.ms": "60000",
    "max.in.flight.requests.per.connection": "5",
    "max.request.size": "1048576",
    "metadata.max.idle.ms": "300000",
    "partitioner.adaptive.partitioning.enable": "true",
    "partitioner.availability.timeout.ms": "0",
    "partitioner.class": None,
    "partitioner.ignore.keys": "false",
    "retries": "2147483647",
    "transaction.timeout.ms": "60000",
    "transactional.id": None,
    "transaction.two.phase.commit.enable": "false",
    "buffer.memory.allocation.strategy": "full",
    "client.rack": None,
    "partitioner.rack.aware": "false",
}


TAKES_ANYTHING = {
    *("client.id", "client.rack", "group.id", "transactional.id"),
    *("enable.metrics.push", "metric.reporters", "metrics.num.samples"),
    *("metrics.recording.level", "metrics.sample.window.ms"),
    "ssl.endpoint.identification.algorithm",  # in Spark: only a blank one is another
}
SERVERS = {"kafka.bootstrap.servers": "a:1"}


def consumer(name, value):
    ConsumerConfig.from_options({"group.id": "g", name: value})


def producer(name, value):
    ProducerConfig.from_options({name: value})


def source(name, value):
    options = {**SERVERS, "subscribe": "t", f"kafka.{name}": value}
    source_options(options, streaming=True)


def sink(name, value):
    sink_options({**SERVERS, "topic": "t", f"kafka.{name}": value})


CASES = [
    (make, name, default)
    for makes, table in (
        ((consumer, source), COMMON | CONSUMERS),
        ((producer, sink), COMMON | PRODUCERS),
    )
    for make in makes
    for name, default in table.items()
]
DEFAULTS = [
    (make, name, default)
    for make, name, default in CASES
    if default is not None
    # Of the source: what it decides itself.
    and (make is not source or name not in ("enable.auto.commit", "auto.offset.reset"))
]


@pytest.mark.parametrize(("make", "name", "default"), DEFAULTS)
def test_javas_default_is_taken(make, name, default):
    make(name, default)


@pytest.mark.parametrize("value", ["", [], (), None])
@pytest.mark.parametrize("name", ["security.providers", "config.providers", "partitioner.class"])
def test_what_is_left_empty_is_not_given(name, value):
    if name != "partitioner.class":
        consumer(name, value)
        ShareConsumerConfig.from_options({"group.id": "g", name: value})
    producer(name, value)


@pytest.mark.parametrize("value", ["", [], None])
def test_no_interceptors_where_there_are_none(value):
    for kind in (ShareConsumerConfig, AdminConfig):
        options = {"interceptor.classes": value}
        kind.from_options(options if kind is AdminConfig else {"group.id": "g", **options})


def refusal(make, name, value):
    """What was said against it: of which option, in which words; None: nothing."""
    try:
        make(name, value)
    except (KafkaConfigurationError, OptionError) as error:
        return (error.option or "").removeprefix("kafka."), str(error)
    return None


@pytest.mark.parametrize(("make", "name", "_default"), CASES)
def test_no_name_is_unknown(make, name, _default):
    refused = refusal(make, name, "\0 nonsense")
    if refused is None:
        assert name in TAKES_ANYTHING
        return
    option, said = refused
    assert option.replace(".", "_") in (name.replace(".", "_"), ALIASES.get(name.replace(".", "_")))
    assert "unknown" not in said
    assert "did you mean" not in said


def test_defaults_come_in_many_forms():
    for value, default in (
        (["TLSv1.2", "TLSv1.3"], "TLSv1.2,TLSv1.3"),
        (" TLSv1.2, TLSv1.3", "TLSv1.2,TLSv1.3"),
        ("FALSE", False),
        (False, False),
        ("0.80", 0.8),
        (100, 100),
        ("100", 100),
        ("", None),
        (None, None),
    ):
        assert is_default(value, default), value
    for value, default in (
        ("x", None),
        ("true", False),
        ("x", 0.8),
        ("0.9", 0.8),
        (True, False),
        ("1", 100),
        ("", "https"),  # which is how Java is told to look at no host name
        ("", 100),
    ):
        assert not is_default(value, default), value


def test_a_strategy_of_recovery_is_what_it_says():
    for strategy in ("rebootstrap", "none"):
        made = ProducerConfig.from_options({"metadata.recovery.strategy": strategy})
        assert made.links().rebootstrap == (strategy == "rebootstrap")
