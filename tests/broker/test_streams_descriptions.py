"""Descriptions of topologies (KIP-1331): as a real Kafka 4.4 with a plug-in keeps them."""

import pytest
from plugged_kafka import plugged_installation
from streams_sides import Beat, of_kafkas, of_ours, owning, part

from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.wire import messages as m

RELEASE = (4, 4)
OPTION = "group_streams_topology_description_plugin_class"
STATELESS = part(0, ["in"])
U = m.StreamsGroupTopologyDescriptionUpdateRequest
Described = U.TopologyDescription
SOURCE, PROCESSOR, SINK = 1, 2, 3


def node(name, kind, successors=(), **more):
    return U.TopologyDescriptionNode(name=name, node_type=kind, successors=[*successors], **more)


def described(*nodes, stores=()):
    part = U.TopologyDescriptionSubtopology(subtopology_id="0", nodes=[*nodes])
    return Described(
        subtopologies=[part],
        global_stores=[
            U.TopologyDescriptionGlobalStore(source=one, processor=other) for one, other in stores
        ],
    )


FROM = node("from", SOURCE, ["count", "count"], source_topics=["b", "a"], stores=["s"])
COUNT = node("count", PROCESSOR, ["to"], stores=["y", "x"], source_topics=["a"], sink_topic="a")
TO = node("to", SINK, sink_topic="out")
ANYWHERE = node("somewhere", SINK)


def push(seen, member, what, epoch=0, group=None):
    group = seen.side.group if group is None else group
    request = U(group_id=group, member_id=member, topology_epoch=epoch, topology_description=what)
    answer = seen.side.client.ask(request, 0)
    seen.note((answer.error_code, seen.side.cut(answer.error_message)))


def kept(seen):
    """A member is asked for one, pushes it, and it is shown, until the group is deleted."""
    seen.side.topic("in", 1)
    seen.has(STATELESS)
    asked = {"include_topology_description": True}
    seen.describe(**asked)
    one = seen.enter("m1").member_epoch
    seen.beat("m1", one)
    seen.enter("m2")
    seen.describe(**asked)
    good = described(FROM, COUNT, TO, ANYWHERE, stores=[(FROM, COUNT)])
    push(seen, "nobody", good)
    push(seen, "m1", good, epoch=1)
    push(seen, "m1", good, group="nothing")
    push(seen, "", good)
    push(seen, "m1", good, group=" ")
    push(seen, "m1", described(node("x", 4)))
    push(seen, "m1", described(stores=[(COUNT, FROM)]))
    seen.describe(**asked)
    push(seen, "m1", good)
    seen.describe(**asked)
    seen.describe()
    seen.beat("m1", one)
    push(seen, "m2", described())
    seen.describe(**asked)
    for name in ("m1", "m2"):
        seen.beat(name, -1)
    seen.describe(**asked)
    seen.delete()
    seen.enter("m3")
    seen.describe(**asked)


def asked_for(seen):
    """Who can be: not by version 0, and not for an older topology than the group's."""
    seen.side.topic("in", 1)
    seen.has(STATELESS, epoch=2)
    request = Beat(
        group_id=seen.side.group, member_id="m1", topology=seen.topology, process_id="p",
        rebalance_timeout_ms=1_000, **owning(),
    )  # fmt: skip
    seen.ask(request, 0)
    seen.has(STATELESS, epoch=1)
    seen.enter("m2")
    push(seen, "m2", described(), epoch=1)
    seen.has(STATELESS, epoch=2)
    seen.enter("m3")
    seen.beat("m1", -1)
    push(seen, "m1", described(), epoch=2)


SCENARIOS = [kept, asked_for]


@pytest.fixture(scope="module")
def plugged(installation, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugged")
    made = plugged_installation(installation, folder, ("DescriptionsInMemory",))
    settings = {OPTION.replace("_", "."): "DescriptionsInMemory"}
    with KafkaCluster(settings=settings, installation=made) as kafka:
        yield kafka


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_we_say_what_a_kafka_said(scenario):
    of_ours(scenario, RELEASE, **{OPTION: "InMemory"})


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_kafka_says_the_same(scenario, plugged):
    of_kafkas(scenario, plugged, (RELEASE,))
