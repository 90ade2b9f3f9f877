"""A node of the demo's Kafka: what it is started with."""

from kcore.cli.demo import kafka_node
from kcore.cli.demo.kafka_node import KafkaNode


class Installation:
    """Notes what would be run."""

    def __init__(self):
        self.words = []

    def command(self, main, *args, **_options):
        self.words += [main, *args]
        return ["true"]


def test_a_cluster_id_that_begins_with_a_dash_is_no_option(tmp_path):
    installation = Installation()
    node = KafkaNode(installation, 1, tmp_path / "node", 9092, ())
    assert node.configure({"node.id": "1"}, "-Pz0fPHHQ1mPYD6fZoXlEA").wait(10) == 0
    assert "--cluster-id=-Pz0fPHHQ1mPYD6fZoXlEA" in installation.words
    assert not any(word.startswith("-P") for word in installation.words)


def test_a_port_is_not_given_out_twice_in_a_row():
    """Servers are told of theirs one after the other, before any of them listens."""
    found = [port for _ in range(60) for port in kafka_node.free_ports(7)]
    assert len(found) == len({*found}) == 420


def test_when_all_were_given_out_they_come_again():
    found = [port for _ in range(3) for port in kafka_node.free_ports(len(kafka_node.PORTS) // 2)]
    assert len(found) == 3 * (len(kafka_node.PORTS) // 2)
    assert {*found} <= {*kafka_node.PORTS}
