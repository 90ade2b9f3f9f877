"""A cluster of one node with ten records, and the world around it."""

import pytest
from scripted import World
from scripted_share import ShareCluster


@pytest.fixture
def cluster():
    found = ShareCluster({"t": 1})
    found.fill(10)
    return found


@pytest.fixture
def world(cluster):
    return World(cluster)
