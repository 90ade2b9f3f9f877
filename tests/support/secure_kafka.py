"""A real Kafka with a listener of each kind: SASL, TLS, both, client certificates, short sessions.

with SecureKafka() as kafka:
    kafka.address("SASL"), kafka.certificates.ca
"""

from __future__ import annotations

import base64
import json
import time

from certificates import Certificates
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.cli.demo.kafka_node import HOST, free_ports

USER, PASSWORD = "alice", "alice-secret"
OTHER = "bob"  # has the same in PLAIN
# What SASLprep (RFC 4013) would change: a compatibility character, a decomposed one, a soft hyphen.
UNPREPARED = "p\u00aass-e\u0301-\u00adx"
SESSION_MS = 4_000  # of the SHORT listener
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROTOCOLS = {
    "SASL": "SASL_PLAINTEXT",
    "SHORT": "SASL_PLAINTEXT",
    "BEARER": "SASL_PLAINTEXT",
    "TLS": "SSL",
    "MTLS": "SSL",
    "SASLTLS": "SASL_SSL",
}


def unsigned_token(lasts_s: float, subject: str = USER) -> str:
    """A JWT without a signature (RFC 7519 6), which begins with this second: Kafka rounds what it
    reads to a ms, and its own clock down, and so would take now for the future now and then.
    """
    now = time.time()
    claims = {"sub": subject, "iat": int(now), "exp": now + lasts_s}
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."


class SecureKafka(KafkaCluster):
    """One node. USER has PASSWORD in every mechanism."""

    def __init__(self) -> None:
        super().__init__(1)
        self.certificates = Certificates(self.folder)
        self._ports = dict(zip(PROTOCOLS, free_ports(len(PROTOCOLS)), strict=True))

    def start(self, timeout_s: float = 90.0) -> None:
        super().start(timeout_s)
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            info = ScramCredentialInfo(kind, 4096)
            change = UserScramCredentialUpsertion(USER, info, PASSWORD.encode())
            # One request each: Kafka takes two mechanisms of one user for a repetition.
            admin.alter_user_scram_credentials([change])[USER].result(30)

    def add_user(self, user: str, password: str) -> None:
        """A SCRAM-SHA-256 user, made by Kafka's own tool, so hashed as Java does."""
        config = self.folder / "user.properties"
        value = f"password={password}".encode("unicode_escape").decode()
        config.write_text("SCRAM-SHA-256=" + value.replace("\\x", "\\u00"))
        self.tool(
            "kafka-configs",
            *("--alter", "--entity-type", "users", "--entity-name", user),
            *("--add-config-file", str(config)),
        )

    def address(self, listener: str) -> str:
        return f"{HOST}:{self._ports[listener]}"

    def broker_settings(self, index: int) -> dict[str, str]:
        settings = super().broker_settings(index)
        more = [f"{name}://{self.address(name)}" for name in PROTOCOLS]
        settings["listeners"] = ",".join([settings["listeners"], *more])
        settings["advertised.listeners"] = ",".join([settings["advertised.listeners"], *more])
        kinds = [f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()]
        settings["listener.security.protocol.map"] += "," + ",".join(kinds)
        settings["sasl.enabled.mechanisms"] = ",".join(MECHANISMS)
        for name, protocol in PROTOCOLS.items():
            if protocol.startswith("SASL"):
                settings |= self._sasl(name.lower())
        settings["listener.name.bearer.sasl.enabled.mechanisms"] = "OAUTHBEARER"
        # Sessions then end with their tokens.
        settings["listener.name.bearer.connections.max.reauth.ms"] = "3600000"
        settings["listener.name.short.sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256"
        settings["listener.name.short.connections.max.reauth.ms"] = str(SESSION_MS)
        settings |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.certificates.with_key("broker")),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.certificates.ca),
            "listener.name.mtls.ssl.client.auth": "required",
            "delegation.token.secret.key": "only for tests",
        }
        return settings

    def _sasl(self, listener: str) -> dict[str, str]:
        module = "org.apache.kafka.common.security"
        users = " ".join(f'user_{user}="{PASSWORD}"' for user in (USER, OTHER))
        plain = f"{module}.plain.PlainLoginModule required {users};"
        # Without a callback handler this takes tokens that nobody has signed.
        bearer = (
            f"{module}.oauthbearer.OAuthBearerLoginModule required "
            'unsecuredLoginStringClaim_sub="broker";'
        )
        settings = {
            f"listener.name.{listener}.plain.sasl.jaas.config": plain,
            f"listener.name.{listener}.oauthbearer.sasl.jaas.config": bearer,
        }
        for mechanism in MECHANISMS[1:]:
            key = f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"
            settings[key] = f"{module}.scram.ScramLoginModule required;"
        return settings
