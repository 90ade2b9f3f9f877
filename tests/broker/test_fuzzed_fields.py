"""Every API, byte by byte: whatever a request says, the node goes on and others are served."""

import random

import pytest
from broker_world import World
from samples import sample

from kcore.broker import BrokerConfig
from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE

VALUES = (0x00, 0x01, 0x7F, 0x80, 0xFF)
VERSIONS = World().nodes[1].versions


def mutations(data, rng):
    """Each byte of the body as something else; each pair and four of them as the extremes."""
    for at in range(8, len(data)):
        for value in rng.sample(VALUES, 2):
            yield data[:at] + bytes([value]) + data[at + 1 :]
    for width in (2, 4, 8):
        for at in range(8, len(data) - width):
            number = rng.choice((b"\x7f" + b"\xff" * (width - 1), b"\xff" * width, bytes(width)))
            yield data[:at] + number + data[at + width :]
    for _ in range(20):
        end = rng.randrange(8, len(data))
        cut = data[4:end]
        yield len(cut).to_bytes(4, "big") + cut


@pytest.mark.parametrize("key", VERSIONS, ids=lambda key: key.stem)
def test_whatever_stands_in_a_field(key):
    rng = random.Random(key.value)
    world = World(config=BrokerConfig(num_partitions=1))
    topic_id = world.topic().topic_id
    other = world.client()
    version = VERSIONS[key][1]
    request = sample(API_TABLE[key].request, version, topic_id)
    for data in mutations(frames.encode_request(request, version, 7, "fuzz"), rng):
        client = world.client()
        client.raw(data)
        client.close()
        assert not world.faults, data
    world.run(10_000)
    assert not world.faults
    assert other.ask(m.MetadataRequest(topics=[]), 9).brokers
    assert world.nodes[1].link_count == 1
