"""The fixtures that come with kcore, and what they can be told."""

import pytest

from kcore.errors import KafkaConfigurationError


@pytest.fixture
def kcore_broker_options():
    return {"settings": {"num.partitions": "4"}}


def test_a_file_may_have_options_of_its_own(kcore_broker):
    kcore_broker.create_topic("t")
    assert kcore_broker.topics() == {"t": 4}
    assert len(kcore_broker.addresses) == 1


def test_a_cluster_has_them_too(kcore_cluster):
    kcore_cluster.create_topic("t")
    assert kcore_cluster.topics() == {"t": 4}
    assert len(kcore_cluster.addresses) == 3


@pytest.mark.parametrize("kcore_broker_options", [{"nodes": 2}, {"nodes": 5}])
def test_a_test_may_be_tried_with_several(kcore_cluster, kcore_broker_options):
    assert len(kcore_cluster.addresses) == kcore_broker_options["nodes"]
    kcore_cluster.create_topic("t")
    assert kcore_cluster.topics() == {"t": 1}


class TestOfOne:
    @pytest.fixture
    def kcore_broker_options(self):
        return {"settings": {"num.partition": "4"}}

    def test_what_cannot_be_is_said(self, request):
        with pytest.raises(KafkaConfigurationError, match=r"did you mean num\.partitions"):
            request.getfixturevalue("kcore_broker")
