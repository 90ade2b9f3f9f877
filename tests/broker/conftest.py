import pytest
from broker_world import World


@pytest.fixture
def world():
    """One node, topic `t` with one partition; at the end nothing went wrong inside."""
    made = World()
    made.topic()
    yield made
    assert not made.faults


@pytest.fixture
def client(world):
    return world.client()


@pytest.fixture
def trio():
    """Three nodes, topic t with three partitions on all of them."""
    made = World(3)
    made.topic("t", 3, replication_factor=3)
    yield made
    assert not made.faults
