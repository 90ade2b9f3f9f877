"""A real Kafka with listeners of SASL/GSSAPI, and its KDC.

USER may do everything; another principal is known to the brokers and may do nothing.
"""

from __future__ import annotations

from kdc import REALM, Kdc

from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.cli.demo.kafka_node import free_ports

HOST = "localhost"  # a name: what brokers advertise is what their principal is made of
USER, OTHER = "alice", "bob"
BRIEF, BRIEF_S = "carol", 6  # her tickets last so long
SESSION_MS = 3_000  # of the SHORT listener
LISTENERS = ("KERBEROS", "SHORT", "MOVED")
MODULE = "com.sun.security.auth.module.Krb5LoginModule"


class KerberosKafka(KafkaCluster):
    """One node; `kdc` is started and ended with it."""

    def __init__(self) -> None:
        super().__init__(1)
        self.kdc = Kdc()
        self._ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
        for node in self.nodes:
            node._jvm = (*node._jvm, f"-Djava.security.krb5.conf={self.kdc.config}")

    def start(self, timeout_s: float = 90.0) -> None:
        self.kdc.start()
        self.kdc.add(f"kafka/{HOST}")
        self.kdc.add(USER)
        self.kdc.add(OTHER)
        self.kdc.add(BRIEF, f"{BRIEF_S} seconds")
        super().start(timeout_s)

    def close(self) -> None:
        super().close()
        self.kdc.close()

    def address(self, listener: str = "KERBEROS") -> str:
        return f"{HOST}:{self._ports[listener]}"

    def broker_settings(self, index: int) -> dict[str, str]:
        settings = super().broker_settings(index)
        more = [f"{name}://{self.address(name)}" for name in LISTENERS]
        settings["listeners"] = ",".join([settings["listeners"], *more])
        advertised = [
            # MOVED names a host for which the KDC has no principal.
            one.replace(HOST, "127.0.0.1") if one.startswith("MOVED") else one
            for one in more
        ]
        settings["advertised.listeners"] = ",".join([settings["advertised.listeners"], *advertised])
        kinds = [f"{name}:SASL_PLAINTEXT" for name in LISTENERS]
        settings["listener.security.protocol.map"] += "," + ",".join(kinds)
        principal = f"kafka/{HOST}"
        for name in LISTENERS:
            listener = f"listener.name.{name.lower()}"
            settings[f"{listener}.sasl.enabled.mechanisms"] = "GSSAPI"
            settings[f"{listener}.gssapi.sasl.jaas.config"] = (
                f"{MODULE} required useKeyTab=true storeKey=true isInitiator=false "
                f'keyTab="{self.kdc.keytab(principal)}" principal="{principal}@{REALM}";'
            )
        settings["sasl.kerberos.service.name"] = "kafka"
        settings["listener.name.short.connections.max.reauth.ms"] = str(SESSION_MS)
        settings["authorizer.class.name"] = (
            "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        )
        settings["super.users"] = f"User:ANONYMOUS;User:{USER};User:{BRIEF}"
        return settings
