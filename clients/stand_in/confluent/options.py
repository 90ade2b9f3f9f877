"""librdkafka's configuration, and what of it is an option of ours.

Names, types, ranges and defaults: CONFIGURATION.md of librdkafka 2.16. What has no counterpart here
(its queues, its logs, its sockets) is taken and without effect, and said so in the log where a
program may count on it. A name that is not librdkafka's, or a value that it would not take, is a
KafkaException of _INVALID_ARG.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, Final

from kcore.clients.log import Log
from kcore.clients.stand_in.confluent.checks import (
    check_all,
    check_consumer,
    check_fetching,
    check_producer,
)
from kcore.clients.stand_in.confluent.errors import KafkaException, failure
from kcore.clients.stand_in.confluent.tokens import TokenProvider
from kcore.limits import MAX_INT32

log = Log("kcore.clients")

Options = dict[str, Any]

_TEXTS: Final = frozenset(
    """
    builtin.features client.id metadata.broker.list bootstrap.servers topic.blacklist debug
    broker.version.fallback ssl.cipher.suites ssl.curves.list ssl.sigalgs.list ssl.key.location
    ssl.key.password ssl.key.pem ssl.certificate.location ssl.certificate.pem ssl.ca.location
    https.ca.location https.ca.pem ssl.ca.pem ssl.ca.certificate.stores ssl.crl.location
    ssl.keystore.location ssl.keystore.password ssl.providers ssl.engine.location ssl.engine.id
    sasl.mechanisms sasl.mechanism sasl.kerberos.service.name sasl.kerberos.principal
    sasl.kerberos.kinit.cmd sasl.kerberos.keytab sasl.username sasl.password
    sasl.oauthbearer.config sasl.oauthbearer.client.id
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
    sasl.oauthbearer.client.secret sasl.oauthbearer.scope sasl.oauthbearer.extensions
    sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.sub.claim.name
    sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
    sasl.oauthbearer.assertion.private.key.pem sasl.oauthbearer.assertion.file
    sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.jwt.template.file
    sasl.oauthbearer.metadata.authentication.query plugin.library.paths group.id group.instance.id
    partition.assignment.strategy group.protocol.type group.remote.assignor client.rack
    share.acknowledgement.mode transactional.id partitioner offset.store.path
    """.split()  # noqa: SIM905 - a hundred names are read more easily so
)
_TRUTHS: Final = frozenset(
    """
    topic.metadata.refresh.sparse socket.keepalive.enable socket.nagle.disable log.queue
    log.thread.name enable.random.seed log.connection.close api.version.request
    allow.auto.create.topics enable.ssl.certificate.verification
    enable.sasl.oauthbearer.unsecure.jwt sasl.oauthbearer.assertion.claim.jti.include
    enable.auto.commit auto.commit.enable enable.auto.offset.store enable.partition.eof check.crcs
    enable.idempotence enable.gapless.guarantee delivery.report.only.error enable.metrics.push
    produce.offset.report
    """.split()  # noqa: SIM905 - likewise
)
_NUMBERS: Final[Mapping[str, tuple[float, float]]] = {
    "message.max.bytes": (1_000, 1_000_000_000),
    "message.copy.max.bytes": (0, 1_000_000_000),
    "receive.message.max.bytes": (1_000, MAX_INT32),
    "max.in.flight.requests.per.connection": (1, 1_000_000),
    "max.in.flight": (1, 1_000_000),
    "metadata.recovery.rebootstrap.trigger.ms": (0, MAX_INT32),
    "topic.metadata.refresh.interval.ms": (-1, 3_600_000),
    "metadata.max.age.ms": (1, 86_400_000),
    "topic.metadata.refresh.fast.interval.ms": (1, 60_000),
    "topic.metadata.refresh.fast.cnt": (0, 1_000),
    "topic.metadata.propagation.max.ms": (0, 3_600_000),
    "socket.timeout.ms": (10, 300_000),
    "socket.blocking.max.ms": (1, 60_000),
    "socket.send.buffer.bytes": (0, 100_000_000),
    "socket.receive.buffer.bytes": (0, 100_000_000),
    "socket.max.fails": (0, 1_000_000),
    "broker.address.ttl": (0, 86_400_000),
    "socket.connection.setup.timeout.ms": (1_000, MAX_INT32),
    "connections.max.idle.ms": (0, MAX_INT32),
    "reconnect.backoff.jitter.ms": (0, 3_600_000),
    "reconnect.backoff.ms": (0, 3_600_000),
    "reconnect.backoff.max.ms": (0, 3_600_000),
    "statistics.interval.ms": (0, 86_400_000),
    "enabled_events": (0, MAX_INT32),
    "log_level": (0, 7),
    "internal.termination.signal": (0, 128),
    "api.version.request.timeout.ms": (1, 300_000),
    "api.version.fallback.ms": (0, 604_800_000),
    "sasl.kerberos.min.time.before.relogin": (0, 86_400_000),
    "sasl.oauthbearer.assertion.claim.exp.seconds": (1, MAX_INT32),
    "sasl.oauthbearer.assertion.claim.nbf.seconds": (0, MAX_INT32),
    "session.timeout.ms": (1, 3_600_000),
    "heartbeat.interval.ms": (1, 3_600_000),
    "coordinator.query.interval.ms": (1, 3_600_000),
    "max.poll.interval.ms": (1, 86_400_000),
    "max.poll.records": (1, MAX_INT32),
    "auto.commit.interval.ms": (0, 86_400_000),
    "queued.min.messages": (1, 10_000_000),
    "queued.max.messages.kbytes": (1, 2_097_151),
    "fetch.wait.max.ms": (0, 300_000),
    "fetch.queue.backoff.ms": (0, 300_000),
    "fetch.message.max.bytes": (1, 1_000_000_000),
    "max.partition.fetch.bytes": (1, 1_000_000_000),
    "fetch.max.bytes": (0, 2_147_483_135),
    "fetch.min.bytes": (1, 100_000_000),
    "fetch.error.backoff.ms": (0, 300_000),
    "transaction.timeout.ms": (1_000, MAX_INT32),
    "queue.buffering.max.messages": (0, MAX_INT32),
    "queue.buffering.max.kbytes": (1, MAX_INT32),
    "queue.buffering.max.ms": (0, 900_000),
    "linger.ms": (0, 900_000),
    "message.send.max.retries": (0, MAX_INT32),
    "retries": (0, MAX_INT32),
    "retry.backoff.ms": (1, 300_000),
    "retry.backoff.max.ms": (1, 300_000),
    "queue.buffering.backpressure.threshold": (1, 1_000_000),
    "batch.num.messages": (1, 1_000_000),
    "batch.size": (1, MAX_INT32),
    "sticky.partitioning.linger.ms": (0, 900_000),
    "request.required.acks": (-1, 1_000),
    "acks": (-1, 1_000),
    "request.timeout.ms": (1, 900_000),
    "message.timeout.ms": (0, MAX_INT32),
    "delivery.timeout.ms": (0, MAX_INT32),
    "compression.level": (-1, 12),
    "offset.store.sync.interval.ms": (-1, 86_400_000),
    "consume.callback.max.messages": (0, 1_000_000),
}
_FRACTIONS: Final = frozenset({"queue.buffering.max.ms", "linger.ms"})
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd", "inherit")
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "metadata.recovery.strategy": ("none", "rebootstrap"),
    "broker.address.family": ("any", "v4", "v6"),
    "security.protocol": ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"),
    "ssl.endpoint.identification.algorithm": ("none", "https"),
    "sasl.oauthbearer.method": ("default", "oidc"),
    "sasl.oauthbearer.grant.type": (
        "client_credentials",
        "urn:ietf:params:oauth:grant-type:jwt-bearer",
    ),
    "sasl.oauthbearer.assertion.algorithm": ("rs256", "es256"),
    "sasl.oauthbearer.metadata.authentication.type": ("none", "azure_imds", "aws_iam"),
    "group.protocol": ("classic", "consumer"),
    "offset.store.method": ("none", "file", "broker"),
    "isolation.level": ("read_uncommitted", "read_committed"),
    "compression.codec": _CODECS,
    "compression.type": _CODECS,
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "queuing.strategy": ("fifo", "lifo"),
    "auto.offset.reset": (
        "smallest", "earliest", "beginning", "largest", "latest", "end", "error",
    ),
}  # fmt: skip
CALLBACKS: Final = frozenset({
    "error_cb", "throttle_cb", "stats_cb", "oauth_cb", "on_commit", "on_delivery", "logger",
})  # fmt: skip
_OTHER_WORDS: Final[Mapping[str, str]] = {  # an older or another word: the name used here
    "metadata.broker.list": "bootstrap.servers",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
    "auto.commit.enable": "enable.auto.commit",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "queue.buffering.max.ms": "linger.ms",
    "message.send.max.retries": "retries",
    "compression.codec": "compression.type",
    "request.required.acks": "acks",
    "delivery.timeout.ms": "message.timeout.ms",
}
_UNHEARD: Final[Mapping[str, str]] = {  # what a program may count on, and has not here
    "plugin.library.paths": "plug-ins of librdkafka are not loaded",
    "ssl.keystore.location": "keystores (PKCS#12) are not read: give ssl.certificate.location",
    "ssl.engine.location": "engines of OpenSSL are not loaded",
    "ssl.providers": "providers of OpenSSL are not loaded",
    "offset.store.path": "offsets are kept by brokers alone",
    "enable.gapless.guarantee": "there is no such guarantee here",
}


def wrong(why: str) -> KafkaException:
    """What is wrong with the configuration."""
    return failure("_INVALID_ARG", why)


class Configuration:
    """What a program has given: values of librdkafka's names, callbacks, and how it was said.

    given: by name, in the types they have. calls: callbacks, by name. token_failed: what hears, in
    words, that oauth_cb has given no other token.
    """

    _tokens: TokenProvider | None = None
    token_failed: Callable[[str], object] | None = None

    def __init__(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        """TypeError: no configuration. KafkaException: a name or a value that cannot be."""
        merged = _merged(arguments, keywords)
        self.calls: dict[str, Any] = {}
        self.given: dict[str, Any] = {}
        for name, value in merged.items():
            if not isinstance(name, str):
                raise wrong(f'No such configuration property: "{name}"')
            if name in CALLBACKS:
                self._take_callback(name, value)
            elif value is not None:
                self.given[_OTHER_WORDS.get(name, name)] = _read(name, value)
        if self.given.get("https.ca.location") and self.given.get("https.ca.pem"):
            raise wrong("`https.ca.location` and `https.ca.pem` are mutually exclusive")
        check_all(self.given)
        for name, why in _UNHEARD.items():
            if self.given.get(name):
                log.warning("%s is without effect: %s", name, why)

    def _take_callback(self, name: str, value: Any) -> None:
        if name == "logger":
            self.calls[name] = value
        elif value is not None and not callable(value):
            if name.startswith("on_"):
                raise wrong(f"{name} requires a callable object")
            kind = ValueError if name == "throttle_cb" else TypeError
            raise kind(f"expected {name} property as a callable function")
        elif value is not None:
            self.calls[name] = value

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or what librdkafka takes without."""
        return self.given.get(name, default)

    def tokens(self) -> TokenProvider:
        """Who asks oauth_cb, from now on until `close`. KafkaException: it gives none."""
        if self._tokens is None:
            told = self.get("sasl.oauthbearer.config", "")
            self._tokens = TokenProvider(self.calls["oauth_cb"], told, self.token_failed)
        return self._tokens

    def close(self) -> None:
        """The client is closed: nobody is asked any more."""
        if self._tokens is not None:
            self._tokens.close()


def _merged(arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> dict[str, Any]:
    if len(arguments) > 1:
        raise TypeError("expected configuration dict, and nothing beside it but keywords")
    if arguments and not isinstance(arguments[0], dict):
        raise TypeError(f"expected configuration dict, not {type(arguments[0]).__name__}")
    if not arguments and not keywords:
        raise TypeError("expected configuration dict")
    merged = {**(arguments[0] if arguments else {}), **keywords}
    of_topics = merged.pop("default.topic.config", None)
    if of_topics is not None:
        if not isinstance(of_topics, dict):
            raise TypeError("expected default.topic.config as a dict")
        merged |= of_topics
    return merged


def _read(name: str, value: Any) -> Any:
    """A value in the type it has. KafkaException."""
    text = str(value)
    if name in _NUMBERS:
        return _number(name, text)
    if name in _TRUTHS:
        lowered = text.strip().lower()
        if lowered in ("true", "t", "1"):
            return True
        if lowered in ("false", "f", "0"):
            return False
        raise wrong(f'Expected bool value for "{name}": true or false')
    if name in _CHOICES:
        if text.lower() not in _CHOICES[name]:
            raise wrong(f'Invalid value "{text}" for configuration property "{name}"')
        return text.lower()
    if name in _TEXTS:
        return text
    raise wrong(f'No such configuration property: "{name}"')


def _number(name: str, text: str) -> float:
    if name.endswith("acks") and text.strip().lower() == "all":
        return -1
    try:
        found = float(text) if name in _FRACTIONS else int(text, 0)
    except ValueError:
        raise wrong(f'Invalid value "{text}" for configuration property "{name}"') from None
    low, high = _NUMBERS[name]
    if not low <= found <= high:
        raise wrong(
            f'Configuration property "{name}" value {text} is outside allowed range {low}..{high}'
        )
    return found


# What becomes of it -------------------------------------------------------------------------------

_SAME: Final[Mapping[str, str]] = {  # of ours, whose meaning is the same
    "client.id": "client_id",
    "client.rack": "client_rack",
    "client.dns.lookup": "client_dns_lookup",
    "receive.message.max.bytes": "receive_message_max_bytes",
    "reconnect.backoff.ms": "reconnect_backoff_ms",
    "reconnect.backoff.max.ms": "reconnect_backoff_max_ms",
    "retry.backoff.ms": "retry_backoff_ms",
    "retry.backoff.max.ms": "retry_backoff_max_ms",
    "metadata.recovery.strategy": "metadata_recovery_strategy",
    "metadata.recovery.rebootstrap.trigger.ms": "metadata_recovery_rebootstrap_trigger_ms",
    "enable.metrics.push": "enable_metrics_push",
    "ssl.cipher.suites": "ssl_ciphers",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
    "ssl.key.pem": "ssl_keydata",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.certificate.pem": "ssl_certdata",
    "ssl.ca.location": "ssl_cafile",
    "ssl.ca.pem": "ssl_cadata",
    "ssl.crl.location": "ssl_crlfile",
}
_OF_TLS: Final = frozenset(ours for ours in _SAME.values() if ours.startswith("ssl_"))
_OF_TOKENS: Final[Mapping[str, str]] = {
    "sasl.oauthbearer.client.id": "sasl_oauthbearer_client_credentials_client_id",
    "sasl.oauthbearer.client.secret": "sasl_oauthbearer_client_credentials_client_secret",
    "sasl.oauthbearer.scope": "sasl_oauthbearer_scope",
    "sasl.oauthbearer.extensions": "sasl_oauthbearer_extensions",
    "sasl.oauthbearer.token.endpoint.url": "sasl_oauthbearer_token_endpoint_url",
    "sasl.oauthbearer.grant.type": "sasl_oauthbearer_jwt_retriever_class",
    **{
        f"sasl.oauthbearer.{name}": "sasl_oauthbearer_" + name.replace(".", "_")
        for name in (
            "assertion.algorithm",
            "assertion.private.key.file",
            "assertion.private.key.passphrase",
            "assertion.private.key.pem",
            "assertion.file",
            "assertion.claim.aud",
            "assertion.claim.exp.seconds",
            "assertion.claim.iss",
            "assertion.claim.jti.include",
            "assertion.claim.nbf.seconds",
            "assertion.claim.sub",
        )
    },
    "sasl.oauthbearer.assertion.jwt.template.file": "sasl_oauthbearer_assertion_template_file",
    "https.ca.location": "sasl_oauthbearer_ssl_cafile",
    "https.ca.pem": "sasl_oauthbearer_ssl_cadata",
}
# What nobody listens at, for a client that is given no servers and is to find none.
NOBODY: Final = "127.0.0.1:1"


def common(conf: Configuration) -> Options:
    """Options of ours that every client has."""
    found: Options = {"client_id": "rdkafka", "client_dns_lookup": "use_all_dns_ips"}
    found |= {
        ours: conf.given[name] for name, ours in _SAME.items() if conf.given.get(name, "") != ""
    }
    found["bootstrap_servers"] = [
        server.strip().rpartition("://")[2]
        for server in conf.get("bootstrap.servers", NOBODY).split(",")
        if server.strip()
    ]
    backoff = conf.get("reconnect.backoff.ms", 100)
    found["reconnect_backoff_ms"] = backoff
    found["reconnect_backoff_max_ms"] = max(conf.get("reconnect.backoff.max.ms", 10_000), backoff)
    setup = conf.get("socket.connection.setup.timeout.ms", 30_000)
    found["socket_connection_setup_timeout_ms"] = setup
    found["socket_connection_setup_timeout_max_ms"] = setup
    found["connections_max_idle_ms"] = -1
    refresh = conf.get("topic.metadata.refresh.interval.ms", 300_000)
    found["metadata_max_age_ms"] = (
        refresh if refresh > 0 else conf.get("metadata.max.age.ms", 900_000)
    )
    for kind in ("send", "receive"):
        size = conf.get(f"socket.{kind}.buffer.bytes", 0)
        found[f"{kind}_buffer_bytes"] = size or None
    _secure(conf, found)
    return found


def _secure(conf: Configuration, found: Options) -> None:
    protocol = conf.get("security.protocol", "plaintext").upper()
    found["security_protocol"] = protocol
    if protocol.endswith("SSL"):
        found["ssl_check_hostname"] = (
            conf.get("ssl.endpoint.identification.algorithm", "https") == "https"
        )
        _probed(found, "ssl_cafile")
        if not conf.get("enable.ssl.certificate.verification", True):
            _trust_everybody(found)
    else:
        for name in _OF_TLS:  # librdkafka does not mind what is of no use
            found.pop(name, None)
    if protocol.startswith("SASL"):
        _authenticate(conf, found)


def _probed(found: Options, option: str) -> None:
    """What has librdkafka look for the system's authorities is what is done without a word here."""
    if found.get(option) in ("", "probe"):
        del found[option]


def _trust_everybody(found: Options) -> None:
    import ssl  # noqa: PLC0415 - who has no TLS need not load it

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if "ssl_certfile" in found:
        context.load_cert_chain(
            found["ssl_certfile"], found.get("ssl_keyfile"), found.get("ssl_password")
        )
    for name in _OF_TLS | {"ssl_check_hostname"}:
        found.pop(name, None)
    found["ssl_context"] = context


def _authenticate(conf: Configuration, found: Options) -> None:
    mechanism = conf.get("sasl.mechanism", "GSSAPI").upper()
    found["sasl_mechanism"] = mechanism
    if mechanism == "OAUTHBEARER":
        if "oauth_cb" in conf.calls:
            found["sasl_oauth_token_provider"] = conf.tokens()
        else:
            found |= {
                ours: conf.given[name] for name, ours in _OF_TOKENS.items() if name in conf.given
            }
            _probed(found, "sasl_oauthbearer_ssl_cafile")
            if not found.get("sasl_oauthbearer_ssl_cadata"):
                found.pop("sasl_oauthbearer_ssl_cadata", None)
    elif mechanism == "GSSAPI":
        for name in ("service.name", "principal", "keytab"):
            value = conf.get(f"sasl.kerberos.{name}")
            if value:
                found["sasl_kerberos_" + name.replace(".", "_")] = value
    else:
        if ("sasl.username" in conf.given) != ("sasl.password" in conf.given):
            raise wrong("sasl.username and sasl.password must be set")
        found["sasl_plain_username"] = conf.get("sasl.username", "")
        found["sasl_plain_password"] = conf.get("sasl.password", "")


def _in_flight(conf: Configuration, limit: int) -> int:
    return min(int(conf.get("max.in.flight.requests.per.connection", limit)), limit)


_RESETS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("smallest", "earliest", "beginning"), "earliest"),
    **dict.fromkeys(("largest", "latest", "end"), "latest"),
    "error": "none",
}


def of_admin(conf: Configuration) -> Options:
    """Options of our admin clients."""
    found = common(conf)
    found.pop("client_rack", None)
    found["request_timeout_ms"] = conf.get("socket.timeout.ms", 60_000)
    return found


def of_consumer(conf: Configuration) -> Options:
    """Options of our consumer."""
    check_consumer(conf.given)
    found = common(conf)
    wait = conf.get("fetch.wait.max.ms", 500)
    found |= {
        "group_id": conf.get("group.id"),
        "allow_auto_create_topics": conf.get("allow.auto.create.topics", False),
        "enable_auto_commit": False,  # done by what is stored
        "auto_offset_reset": _RESETS[conf.get("auto.offset.reset", "largest")],
        "isolation_level": conf.get("isolation.level", "read_committed"),
        "fetch_max_wait_ms": wait,
        "max_poll_interval_ms": conf.get("max.poll.interval.ms", 300_000),
        "request_timeout_ms": max(conf.get("socket.timeout.ms", 60_000), wait + 1_000),
        "max_in_flight_requests_per_connection": _in_flight(conf, 100),
        "exclude_internal_topics": False,
    }
    for name, ours in {
        "group.instance.id": "group_instance_id",
        "fetch.min.bytes": "fetch_min_bytes",
        "fetch.max.bytes": "fetch_max_bytes",
        "max.partition.fetch.bytes": "max_partition_fetch_bytes",
        "check.crcs": "check_crcs",
    }.items():
        if conf.get(name, "") != "":
            found[ours] = conf.get(name)
    if "queued.max.messages.kbytes" in conf.given:
        found["max_buffered_bytes"] = conf.get("queued.max.messages.kbytes") * 1024
    if conf.get("group.protocol") == "consumer":
        found["group_protocol"] = "consumer"
        if conf.get("group.remote.assignor"):
            found["group_remote_assignor"] = conf.get("group.remote.assignor")
    else:
        session = conf.get("session.timeout.ms", 45_000)
        found["session_timeout_ms"] = max(session, 2)
        beat = conf.get("heartbeat.interval.ms", 3_000)
        found["heartbeat_interval_ms"] = max(1, min(beat, session // 3))
        found["partition_assignment_strategy"] = _strategies(conf)
    return found


def of_share_consumer(conf: Configuration) -> Options:
    """Options of our share consumer."""
    check_fetching(conf.given)
    found = common(conf)
    wait = conf.get("fetch.wait.max.ms", 500)
    found |= {
        "group_id": conf.get("group.id"),
        "allow_auto_create_topics": conf.get("allow.auto.create.topics", False),
        "fetch_max_wait_ms": wait,
        "max_poll_interval_ms": conf.get("max.poll.interval.ms", 300_000),
        "max_poll_records": conf.get("max.poll.records", 500),
        "request_timeout_ms": max(conf.get("socket.timeout.ms", 60_000), wait + 1_000),
        "share_acknowledgement_mode": conf.get("share.acknowledgement.mode", "implicit"),
    }
    for name, ours in {"fetch.min.bytes": "fetch_min_bytes", "check.crcs": "check_crcs"}.items():
        if name in conf.given:
            found[ours] = conf.get(name)
    if conf.get("fetch.max.bytes"):
        found["fetch_max_bytes"] = conf.get("fetch.max.bytes")
    return found


def _strategies(conf: Configuration) -> str:
    given = conf.get("partition.assignment.strategy", "range,roundrobin")
    names = [name.strip() for name in given.split(",")]
    for name in names:
        if name not in ("range", "roundrobin", "cooperative-sticky"):
            raise wrong(f"Unsupported partition.assignment.strategy: {name}")
    if len({name == "cooperative-sticky" for name in names}) > 1:
        raise wrong(f"partition.assignment.strategy: {given} are of two protocol types")
    return ",".join(dict.fromkeys(names))


def of_producer(conf: Configuration) -> Options:
    """Options of our producer."""
    check_producer(conf.given)
    found = common(conf)
    found.pop("client_rack", None)
    largest = conf.get("message.max.bytes", 1_000_000)
    timeout = conf.get("message.timeout.ms", 300_000) or MAX_INT32
    linger = min(ceil(conf.get("linger.ms", 5)), timeout - 1)
    transactional = conf.get("transactional.id")
    idempotent = bool(conf.get("enable.idempotence", False) or transactional)
    acks = conf.get("acks", -1)
    if idempotent:
        if acks != -1:
            raise wrong("`acks` must be set to `all` when `enable.idempotence` is true")
        if conf.get("retries", 1) == 0:
            raise wrong("`retries` must be set >0 when `enable.idempotence` is true")
        if conf.get("max.in.flight.requests.per.connection", 5) > 5:
            raise wrong("`max.in.flight` must be set <= 5 when `enable.idempotence` is true")
    found |= {
        "acks": acks if acks in (-1, 0, 1) else -1,
        "enable_idempotence": idempotent,
        "linger_ms": linger,
        "delivery_timeout_ms": timeout,
        "request_timeout_ms": max(1, min(conf.get("request.timeout.ms", 30_000), timeout - linger)),
        "batch_size": min(conf.get("batch.size", 1_000_000), largest),
        "max_request_size": largest + 1_024,  # a batch's own bytes are not the message's
        "buffer_memory": 1 << 40,  # counted by who stands in
        "retries": int(conf.get("retries", MAX_INT32)),
        "max_in_flight_requests_per_connection": _in_flight(conf, 5),
    }
    codec = conf.get("compression.type", "none")
    found["compression_type"] = "none" if codec == "inherit" else codec
    level = conf.get("compression.level", -1)
    if level != -1 and codec in ("gzip", "lz4", "zstd"):
        found["compression_level"] = min(level, 9) if codec == "gzip" else level
    if transactional:
        found["transactional_id"] = transactional
        found["transaction_timeout_ms"] = conf.get("transaction.timeout.ms", 60_000)
    return found
