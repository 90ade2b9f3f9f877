"""`kcore broker`: an embedded broker in the foreground, until Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, cast

from kcore.broker import AuthorizerConfig, BrokerConfig, RefusedError
from kcore.cli.endings import DONE, RefusalError, output
from kcore.embedded import EmbeddedBroker
from kcore.embedded.disk import StorageError
from kcore.errors import KafkaConfigurationError, UsageError

if TYPE_CHECKING:
    from kcore.embedded.security import SecurityOptions

# A signal that comes just before a wait does not end it: its handler is called after.
LOOKS_UP_S: Final = 0.5


@dataclass(frozen=True)
class ServeOptions:
    """What was asked for. advertise: the host that clients are told; None: `host`. directory: where
    it is kept, None: nowhere. release: of Kafka, whose API versions are offered; None: the newest.
    authorizer: whether access control lists count; super_users: for whom they do not. users: names
    and passwords; kerberos_keytab: the broker's own keys. delegation_token_secret_key: None:
    nobody gets one. racks: of each node; replica_selector: `leader` or `rack-aware`. topics: names
    and numbers of partitions and replicas (None: as `set` says). set: more options, under Kafka's
    names.
    """

    host: str
    port: int
    advertise: str | None = None
    nodes: int = 1
    directory: str | None = None
    flush: str | int = "never"
    release: tuple[int, int] | None = None
    authorizer: bool = False
    super_users: tuple[str, ...] = ()
    security_protocol: str = "PLAINTEXT"
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    delegation_token_secret_key: str | None = field(default=None, repr=False)
    kerberos_keytab: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_cafile: str | None = None
    ssl_client_auth: str | None = None
    racks: tuple[str, ...] = ()
    replica_selector: str = "leader"
    topics: tuple[tuple[str, int | None, int | None], ...] = ()
    set: Mapping[str, str] = field(default_factory=dict)

    @property
    def security(self) -> SecurityOptions:
        """For an EmbeddedBroker: what is given."""
        given = {
            "sasl_users": self.users or None,
            "delegation_token_secret_key": self.delegation_token_secret_key,
            "sasl_kerberos_keytab": self.kerberos_keytab,
            "ssl_certfile": self.ssl_certfile,
            "ssl_keyfile": self.ssl_keyfile,
            "ssl_cafile": self.ssl_cafile,
            "ssl_client_auth": self.ssl_client_auth,
        }
        if self.security_protocol != "PLAINTEXT" or any(given.values()):
            given["security_protocol"] = self.security_protocol
        return cast("SecurityOptions", {name: one for name, one in given.items() if one})


def serve(options: ServeOptions) -> int:
    """Serve on `port` and those that follow (0: any free ones). RefusalError if that cannot be, or
    there is nowhere to say where.
    """
    output()  # who is not told the address has nothing of a broker
    kept = "in memory" if options.directory is None else f"kept in {options.directory}"
    try:
        broker = EmbeddedBroker(
            options.nodes,
            host=options.host,
            port=options.port,
            advertised_host=options.advertise,
            config=_config(options),
            settings=options.set,
            directory=options.directory,
            flush=options.flush,
            authorizer=_authorizer(options),
            racks=options.racks or None,
            **options.security,
        ).start()
    except (UsageError, StorageError, KafkaConfigurationError) as error:
        raise RefusalError(str(error)) from error
    except OSError as error:
        where = f"{options.host}:{options.port}"
        raise RefusalError(f"cannot listen on {where}: {error.strerror}") from error
    try:
        _make_topics(broker, options)
        ending = "ends it all" if options.directory is None else "ends it"
        print(f"serving on {broker.bootstrap}; {kept}: Ctrl-C {ending}", flush=True)
        if options.security_protocol.endswith("SSL") and options.ssl_certfile is None:
            print(f"clients trust {broker.ssl_cafile} (ssl_cafile)", flush=True)
        with suppress(KeyboardInterrupt):
            while True:
                time.sleep(LOOKS_UP_S)
    finally:
        broker.stop()
    return DONE


def _make_topics(broker: EmbeddedBroker, options: ServeOptions) -> None:
    """RefusalError: one cannot be made, or is to be made twice."""
    kept = broker.topics()
    for name, partitions, replicas in options.topics:
        try:
            if name not in kept:
                broker.create_topic(name, partitions, replication_factor=replicas)
        except RefusedError as error:
            raise RefusalError(f"topic {name}: {error}") from error


def _config(options: ServeOptions) -> BrokerConfig:
    """RefusalError: consumers are to be sent to racks that are not named."""
    config = BrokerConfig()
    if options.release is not None:
        config = replace(config, release=options.release)
    if options.replica_selector == "rack-aware":
        if not options.racks:
            raise RefusalError("--replica-selector rack-aware is for a broker with --racks")
        config = replace(config, replica_selector_class="RackAwareReplicaSelector")
    return config


def _authorizer(options: ServeOptions) -> AuthorizerConfig | bool:
    """RefusalError: super users of whom nothing is asked, or who are told in two ways."""
    if options.super_users and not options.authorizer:
        raise RefusalError("--super-user is for a broker with --authorizer")
    if options.super_users and "super.users" in options.set:
        raise RefusalError("--super-user or --set super.users=, not both")
    return options.authorizer and AuthorizerConfig(super_users=options.super_users)
