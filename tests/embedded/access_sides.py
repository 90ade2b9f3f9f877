"""Two brokers with an authorizer side by side: what alice, who may do little, is answered by each.

At both `root` may do everything. At the Kafka alice is who she is by SASL, at the embedded broker
by her client id.
"""

import time

from raw_client import DEADLINE_S, Link, Peer

from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.cli.demo.kafka_node import HOST, free_ports
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

ALICE = "User:alice"
LISTENER = "SASL"


class GuardedKafka(KafkaCluster):
    """A Kafka with StandardAuthorizer, where who has not said who he is may do everything."""

    def __init__(self):
        super().__init__(1)
        self._port = free_ports(1)[0]

    @property
    def address(self):
        """Where one says who he is."""
        return f"{HOST}:{self._port}"

    def broker_settings(self, index):
        settings = super().broker_settings(index)
        for name in ("listeners", "advertised.listeners"):
            settings[name] += f",{LISTENER}://{self.address}"
        settings["listener.security.protocol.map"] += f",{LISTENER}:SASL_PLAINTEXT"
        plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        listener = f"listener.name.{LISTENER.lower()}"
        return settings | {
            f"{listener}.sasl.enabled.mechanisms": "PLAIN",
            f"{listener}.plain.sasl.jaas.config": f'{plain} user_alice="a";',
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }


class AlicesPeer(Peer):
    """A broker as alice sees it; one that closes her connection has said so."""

    sasl = False

    def link(self, label="a"):
        if label not in self._links:
            link = self._links[label] = Link(self.address, "alice")
            if self.sasl:
                link.ask(m.SaslHandshakeRequest(mechanism="PLAIN"), 1)
                said = link.ask(m.SaslAuthenticateRequest(auth_bytes=b"\0alice\0a"), 2)
                assert not said.error_code, said
        return self._links[label]

    def ask(self, message, version=None, link="a", note=None):
        try:
            return super().ask(message, version, link, note)
        except (ConnectionResetError, BrokenPipeError, TimeoutError) as gone:
            self.said.append((note, type(gone).__name__))
            self._links.pop(link).close()
            return None


class SaslPeer(AlicesPeer):
    sasl = True


class Side:
    """One broker: `root` and `alice` ask it, and `allow` and `deny` are what root says of her."""

    def __init__(self, root, alice):
        self.root, self.alice = root, alice
        self.tag = root.tag

    def allow(self, operation, kind, name, *, pattern=3, permission=3, principal=ALICE, host="*"):
        acl = m.CreateAclsRequest.AclCreation(
            resource_type=kind, resource_name=name, resource_pattern_type=pattern,
            principal=principal, host=host, operation=operation, permission_type=permission,
        )  # fmt: skip
        answer = self.root.link().ask(m.CreateAclsRequest(creations=[acl]), 3)
        assert not answer.results[0].error_code, answer
        self.until_known(1, kind, name, principal, operation, permission, pattern)

    def deny(self, operation, kind, name, **more):
        self.allow(operation, kind, name, permission=2, **more)

    def until_known(self, count, kind, name, principal, operation, permission, pattern):
        """A Kafka's nodes hear of entries a little later than its controller."""
        asked = m.DescribeAclsRequest(
            resource_type_filter=kind, resource_name_filter=name, pattern_type_filter=pattern,
            principal_filter=principal, host_filter=None, operation=operation,
            permission_type=permission,
        )  # fmt: skip
        end = time.monotonic() + DEADLINE_S
        while True:
            answer = self.root.link().ask(asked, 3)
            if sum(len(one.acls) for one in answer.resources) >= count:
                return
            assert answer.error_code == E.NONE
            assert time.monotonic() < end
            time.sleep(0.02)

    def nothing_allowed(self):
        """All entries go."""
        every = m.DeleteAclsRequest.DeleteAclsFilter(
            resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1,
            principal_filter=None, host_filter=None, operation=1, permission_type=1,
        )  # fmt: skip
        self.root.link().ask(m.DeleteAclsRequest(filters=[every]), 3)
        asked = m.DescribeAclsRequest(
            resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1,
            principal_filter=None, host_filter=None, operation=1, permission_type=1,
        )  # fmt: skip
        end = time.monotonic() + DEADLINE_S
        while self.root.link().ask(asked, 3).resources:
            assert time.monotonic() < end
            time.sleep(0.02)

    def close(self):
        self.root.close()
        self.alice.close()
