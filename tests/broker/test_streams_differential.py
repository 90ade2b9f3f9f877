"""The same requests of members of streams groups to a real Kafka and to our node."""

import pytest
from streams_sides import (
    RELEASES,
    Beat,
    internal,
    of_kafkas,
    of_ours,
    owning,
    part,
    task_ids,
    topology,
)

from kcore.wire import messages as m

STATELESS = part(0, ["in"])
DELAYED = 5


def wrong(seen):
    """What is wrong with a request by itself, and what is said first of two such things."""
    seen.side.topic("in", 2)
    seen.has(STATELESS)
    some = task_ids({"0": [0]})
    offsets = [Beat.TaskOffset(subtopology_id="0", partition=0, offset=1)]
    regex = topology(part(0, ["in"]))
    regex.subtopologies[0].source_topic_regex = [".*"]
    for fields in (
        {"instance_id": "i"}, {"instance_id": ""}, {"task_offsets": []}, {"task_offsets": offsets},
        {"task_end_offsets": []}, {"warmup_tasks": some}, {"warmup_tasks": None},
        {"topology": regex}, {"group_id": ""}, {"rack_id": " "}, {"rebalance_timeout_ms": -1},
        {"active_tasks": some}, {"active_tasks": None}, {"standby_tasks": some},
        {"standby_tasks": None}, {"topology": None},
        {"topology": topology(part(0, ["in"], changelogs=[internal("c", 3)]))},
        {"topology": topology(STATELESS, epoch=-1)},
        {"topology": topology(part(0, ["__consumer_offsets"]))},
        {"topology": topology(part(0, ["a b", "in", "a b"], sinks=["?"]))},
        {"active_tasks": some, "rebalance_timeout_ms": -1, "instance_id": "i"},
    ):  # fmt: skip
        seen.enter("m1", **fields)
    seen.enter("")
    for epoch, fields in (
        (-3, {}), (-2, {}), (-2, {"instance_id": "i"}), (-1, {}), (1, {}),
        (1, {"active_tasks": []}), (1, {"topology": seen.topology}),
        (-1, {"standby_tasks": []}), (-1, {"topology": seen.topology}),
    ):  # fmt: skip
        seen.beat("m1", epoch, **fields)


def one_member(seen):
    seen.side.topic("in", 3)
    seen.has(STATELESS)
    seen.describe()
    epoch = seen.enter("m1", rack_id="r").member_epoch
    seen.describe()
    seen.listed()
    seen.listed(types=["streams"])
    seen.listed(types=["Streams"], states=["stable"])
    seen.listed(types=["share"])
    seen.beat("m1", epoch)
    seen.beat("m1", epoch, **owning({"0": [0, 1, 2]}))
    seen.beat("m1", epoch + 1)
    seen.beat("m1", epoch - 1)
    seen.beat("m1", epoch - 1, **owning())
    seen.beat("m1", epoch, **owning({"1": [0]}))
    seen.beat("m1", epoch, **owning({"0": [3]}))
    seen.beat("m1", epoch, **owning({"0": [-1]}, {"0": [7]}))
    seen.beat("nobody", epoch)
    seen.enter("m1")
    seen.enter("m1", rack_id="other")
    seen.describe()
    seen.beat("nobody", -1)
    seen.beat("m1", -1)
    seen.beat("m1", -1)
    seen.beat("m1", epoch)
    seen.describe()
    seen.listed(states=["Empty"])


def no_group(seen):
    seen.beat("m1", 1)
    seen.beat("m1", -1)
    seen.describe()
    seen.describe("")
    seen.side.topic("in", 1)
    seen.has(STATELESS)
    group = seen.side.group
    # Offsets alone make a classic group, without members.
    R = m.OffsetCommitRequest
    topic = R.OffsetCommitRequestTopic(
        name=seen.side.name("in"),
        partitions=[R.OffsetCommitRequestPartition(committed_offset=1)],
    )
    commit = R(group_id=group, generation_id_or_member_epoch=-1, topics=[topic])
    seen.note(seen.side.client.ask(commit, 8).topics[0].partitions[0].error_code)
    seen.beat("m1", 1)
    seen.beat("m1", -1)
    seen.describe()
    seen.enter("m1")
    seen.describe()
    seen.listed()


def topics(seen):
    """Repartition topics, changelogs, and what is said while they are not there."""
    seen.side.topic("in", 3)
    seen.has(
        part(0, ["in"], sinks=["words"]),
        part(1, repartitions=[internal("words", cleanup_policy="delete")],
             changelogs=[internal("counts", cleanup_policy="compact")]),
    )  # fmt: skip
    epoch = seen.enter("m1").member_epoch
    seen.side.made("words", "counts")
    seen.describe()
    answer = seen.beat("m1", epoch)
    seen.describe()
    seen.beat("m1", answer.member_epoch, **owning({"0": [0, 1, 2], "1": [0, 1, 2]}))
    seen.describe()
    D = m.DescribeConfigsRequest
    for name in ("words", "counts"):
        entry = D.DescribeConfigsResource(resource_type=2, resource_name=seen.side.name(name))
        (found,) = seen.side.client.ask(D(resources=[entry]), 4).results
        seen.note([(x.name, x.value) for x in found.configs if x.name == "cleanup.policy"])


def missing_sources(seen):
    seen.has(part(0, ["in", "in2", "d", "b"]))
    epoch = seen.enter("m1").member_epoch
    seen.describe()
    seen.listed(states=["NotReady"])
    seen.listed(states=["not_ready"])
    for name in ("in", "in2", "b", "d"):
        seen.side.topic(name, 2)
        epoch = seen.beat("m1", epoch).member_epoch
    seen.describe()
    seen.side.delete("b")
    epoch = seen.beat("m1", epoch).member_epoch
    seen.describe()
    epoch = seen.beat("m1", epoch, **owning()).member_epoch
    seen.describe()
    seen.side.topic("b", 2)
    seen.beat("m1", epoch)


def many_missing(seen):
    """Texts name three topics, in an order of Kafka's own."""
    seen.side.topic("in", 1)
    stores = [internal(f"store-{n}", factor=9) for n in range(8)]
    for number, count in enumerate((8, 3, 1)):
        seen.has(part(0, ["in"], changelogs=stores[:count]))
        group = f"{seen.side.group}-{number}"
        said = {"topology": seen.topology, "rebalance_timeout_ms": 1_000, "group_id": group}
        for _ in range(2):  # a Kafka knows a moment later why it could not make them
            request = Beat(member_id="m1", member_epoch=0, process_id="p", **said, **owning())
            answer = seen.side.client.ask(request, seen.version)
            (status,) = [one for one in answer.status if one.status_code != DELAYED]
            seen.side.run(500)
        what, _, why = seen.side.cut(status.status_detail).partition("; ")
        seen.note((status.status_code, what, why[:16]))


def partitioning(seen):
    """Numbers of partitions that fit, and those that do not."""
    seen.side.topic("two", 2)
    seen.side.topic("three", 3)
    seen.side.topic("store", 5)
    for number, parts in enumerate(
        (
            [part(0, ["two", "three"], copartitions=[([0, 1], [])])],
            [part(0, ["two"], changelogs=[internal("store")])],
            [part(0, ["two"], sinks=["r"]),
             part(1, ["three"], repartitions=[internal("r", 4)], copartitions=[([0], [0])])],
            [part(0, ["two"], sinks=["a", "b"]),
             part(1, repartitions=[internal("a", 4), internal("b", 5)],
                  copartitions=[([], [0, 1])])],
            [part(0, ["two"], sinks=["a"]), part(1, repartitions=[internal("a"), internal("z")])],
            [part(0, repartitions=[internal("a")], sinks=["a"])],
            [part(0)],
            [part(0, ["two"], copartitions=[([], [])])],
        )
    ):  # fmt: skip
        seen.has(*parts)
        seen.enter("m1", group_id=f"{seen.side.group}-{number}")


def copartitions(seen):
    """Repartition topics take the number of what they are joined with."""
    seen.side.topic("two", 2)
    seen.side.topic("three", 3)
    seen.has(
        part(0, ["two"], sinks=["r", "s"]),
        part(1, ["three"], sinks=["t"]),
        part(2, ["three"], repartitions=[internal("r")], copartitions=[([0], [0])],
             changelogs=[internal("joined")]),
        part(3, repartitions=[internal("s"), internal("t")], copartitions=[([], [0, 1])],
             sinks=["u"]),
        part(4, repartitions=[internal("u", 5)]),
    )  # fmt: skip
    epoch = seen.enter("m1").member_epoch
    seen.side.made("r", "s", "t", "u", "joined")
    epoch = seen.beat("m1", epoch).member_epoch
    seen.describe()


def topology_epochs(seen):
    seen.side.topic("in", 1)
    seen.side.topic("other", 1)
    seen.has(STATELESS, epoch=3)
    seen.enter("m1")
    for parts, epoch in (
        ([STATELESS], 3), ([STATELESS], 2), ([part(0, ["other"])], 2), ([part(0, ["other"])], 3),
        ([STATELESS], 4), ([part("x", ["in"])], 3),
    ):  # fmt: skip
        seen.has(*parts, epoch=epoch)
        seen.enter("m2")
    seen.describe()
    epoch = seen.enter("m1", topology=None).member_epoch
    assert not epoch
    seen.beat("m2", seen.describe().group_epoch)


def two_members(seen):
    """What one has to give up, another gets when it has."""
    seen.side.topic("in", 5)
    seen.has(STATELESS)
    one = seen.enter("m1").member_epoch
    two = seen.enter("m2").member_epoch
    seen.describe()
    seen.beat("m2", two)
    seen.beat("m1", one)
    seen.describe()
    seen.beat("m1", one, **owning({"0": [0, 1, 2, 3, 4]}))
    seen.beat("m2", two)
    seen.beat("m1", one, **owning({"0": [0, 1, 2]}))
    seen.describe()
    two = seen.beat("m2", two).member_epoch
    seen.describe()
    three = seen.enter("m3").member_epoch
    one = seen.beat("m1", two, **owning({"0": [0, 1, 2]})).member_epoch
    seen.beat("m2", two, **owning({"0": [3, 4]}))
    one = seen.beat("m1", one, **owning({"0": [0, 1]})).member_epoch
    seen.beat("m3", three)
    seen.describe()
    seen.beat("m1", -1)
    seen.beat("m3", three)
    seen.describe()
    seen.beat("m2", two)
    seen.describe()


def standbys(seen):
    """Standby tasks are of other processes."""
    seen.side.configure(num_standby_replicas="1")
    seen.side.topic("in", 4)
    seen.side.topic("store", 4)
    seen.has(part(0, ["in"], changelogs=[internal("store")]))
    epochs = {}
    for name, process in (("m1", "p1"), ("m2", "p1"), ("m3", "p2")):
        epochs[name] = seen.enter(name, process).member_epoch
        seen.describe()
    has = {}
    for _ in range(5):
        for name, epoch in epochs.items():
            answer = seen.beat(name, epoch, **has.get(name, {}))
            epochs[name] = answer.member_epoch
            if answer.active_tasks is not None:
                has[name] = {
                    "active_tasks": [*map(owned, answer.active_tasks)],
                    "standby_tasks": [*map(owned, answer.standby_tasks)],
                    "warmup_tasks": [],
                }
    seen.describe()
    seen.side.configure(num_standby_replicas="2")
    epochs["m1"] = seen.beat("m1", epochs["m1"], **has["m1"]).member_epoch
    seen.describe()
    seen.beat("m3", -1)
    seen.describe()
    seen.beat("m1", epochs["m1"], **has["m1"])
    seen.describe()


def owned(one):
    return Beat.TaskIds(subtopology_id=one.subtopology_id, partitions=one.partitions)


def endpoints(seen):
    """Who answers questions about what."""
    seen.side.topic("in", 3)
    seen.side.topic("narrow", 1)
    seen.has(part(0, ["in", "narrow"]))
    place = Beat.Endpoint(host="here", port=65_535)
    other = Beat.Endpoint(host="there", port=1)
    tags = [Beat.KeyValue(key="zone", value="a"), Beat.KeyValue(key="cluster", value="b")]
    one = seen.enter("m1", user_endpoint=place, client_tags=tags)
    one = seen.beat("m1", one.member_epoch, endpoint_information_epoch=7)
    seen.beat("m1", one.member_epoch, endpoint_information_epoch=one.endpoint_information_epoch)
    two = seen.enter("m2", user_endpoint=other)
    one = seen.beat("m1", one.member_epoch, **owning({"0": [0, 1, 2]}))
    one = seen.beat("m1", one.member_epoch, **owning({"0": [0, 1]}))
    two = seen.beat("m2", two.member_epoch)
    known = two.endpoint_information_epoch
    seen.beat("m2", two.member_epoch, endpoint_information_epoch=known)
    seen.beat("m1", one.member_epoch, user_endpoint=other, endpoint_information_epoch=known)
    seen.describe()
    seen.beat("m1", one.member_epoch)


def endpoint_without_topics(seen):
    seen.has(STATELESS)
    seen.enter("m1", user_endpoint=Beat.Endpoint(host="here", port=1))


def shutdown(seen):
    seen.side.topic("in", 2)
    seen.has(STATELESS)
    one = seen.enter("m1").member_epoch
    two = seen.enter("m2").member_epoch
    seen.beat("m1", one, shutdown_application=True)
    seen.beat("m2", two)
    seen.beat("m2", two, shutdown_application=True)
    seen.beat("m1", -1)
    seen.beat("m2", two)
    seen.beat("m2", -1, shutdown_application=True)
    seen.enter("m3")
    seen.enter("m4", group_id=f"{seen.side.group}-b", shutdown_application=True)
    seen.enter("m5", group_id=f"{seen.side.group}-b")


def delays(seen):
    """New groups wait for members, targets for each other."""
    seen.side.configure(initial_rebalance_delay_ms="1500")
    seen.side.topic("in", 4)
    seen.has(STATELESS)
    one = seen.enter("m1").member_epoch
    one = seen.beat("m1", one).member_epoch
    two = seen.enter("m2").member_epoch
    seen.describe()
    seen.side.run(2_000)
    seen.describe()
    one = seen.beat("m1", one).member_epoch
    two = seen.beat("m2", two).member_epoch
    seen.describe()
    seen.side.configure(assignment_interval_ms="4000")
    seen.enter("m3")
    seen.beat("m1", one)
    seen.describe()
    seen.side.run(4_500)
    seen.beat("m1", one)
    seen.describe()


def sessions(seen):
    """Members that are silent, or do not give up what they are to, are taken out."""
    seen.side.configure(heartbeat_interval_ms="100", session_timeout_ms="1000")
    seen.side.topic("in", 2)
    seen.has(STATELESS)
    one = seen.enter("m1", rebalance_timeout_ms=1_500).member_epoch
    seen.enter("m2")
    seen.side.run(500)
    one = seen.beat("m1", one).member_epoch
    seen.side.run(700)
    seen.describe()
    for _ in range(3):
        seen.side.run(500)
        seen.beat("m1", one)
    seen.describe()
    two = seen.enter("m2").member_epoch
    for _ in range(5):
        seen.side.run(500)
        seen.beat("m1", one)
        two = seen.beat("m2", two).member_epoch
    seen.describe()


SCENARIOS = [
    wrong, one_member, no_group, topics, missing_sources, many_missing, partitioning, copartitions,
    topology_epochs, two_members, standbys, endpoints, endpoint_without_topics, shutdown, delays,
    sessions,
]  # fmt: skip


@pytest.mark.parametrize("release", RELEASES, ids="{0[0]}.{0[1]}".format)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_we_say_what_a_kafka_said(scenario, release):
    of_ours(scenario, release)


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_kafka_says_the_same(scenario, kafka):
    of_kafkas(scenario, kafka)
