"""Streams groups on the embedded broker: nodes that die, mishaps, restarts."""

import pytest
from click.testing import CliRunner
from raw_client import Link

from kcore.broker import BrokerConfig
from kcore.cli.commands import kcore
from kcore.embedded import EmbeddedBroker
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

Beat = m.StreamsGroupHeartbeatRequest
NOTHING = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
EVERYTHING = {"0": [0, 1], "1": [0, 1]}


def topology():
    words = Beat.TopicInfo(name="words", replication_factor=-1)
    counts = Beat.TopicInfo(name="counts", replication_factor=-1)
    return Beat.Topology(
        subtopologies=[
            Beat.Subtopology(
                subtopology_id="0", source_topics=["in"], repartition_sink_topics=["words"]
            ),
            Beat.Subtopology(
                subtopology_id="1",
                repartition_source_topics=[words],
                state_changelog_topics=[counts],
            ),
        ]
    )


def ask(broker, request):
    """Of whoever coordinates the group."""
    for address in broker.bootstrap.split(","):
        try:
            link = Link(address)
        except ConnectionRefusedError:
            continue  # it is down
        answer = link.ask(request, 0)
        link.sock.close()
        if answer.error_code != ErrorCode.NOT_COORDINATOR:
            return answer
    raise AssertionError("nobody coordinates it")


def beat(broker, epoch, **more):
    return ask(broker, Beat(group_id="app", member_id="m1", member_epoch=epoch, **more))


def enter(broker):
    fields = {"topology": topology(), "process_id": "p", "rebalance_timeout_ms": 60_000}
    return beat(broker, 0, **fields, **NOTHING)


def settle(broker):
    """A member with all of its tasks; its epoch."""
    broker.create_topic("in", 2)
    enter(broker)
    for _ in range(3):
        broker.let_time_pass(3_000)
        answer = enter(broker)
    assert tasks(answer) == EVERYTHING
    assert not answer.status
    return answer.member_epoch


def tasks(answer):
    return {one.subtopology_id: one.partitions for one in answer.active_tasks}


def test_another_node_goes_on():
    with EmbeddedBroker(nodes=3) as broker:
        epoch = settle(broker)
        for node in (1, 2, 3):  # one of them coordinates the group
            broker.kill(node)
            assert beat(broker, epoch).member_epoch == epoch
            assert tasks(enter(broker)) == EVERYTHING
            broker.revive(node)
        assert not broker.faults


def test_a_restart_goes_on(tmp_path):
    with EmbeddedBroker(directory=tmp_path) as broker:
        epoch = settle(broker)
    with EmbeddedBroker(directory=tmp_path) as broker:
        assert broker.topics() == {"in": 2, "words": 2, "counts": 2}
        assert beat(broker, epoch).member_epoch == epoch
        assert tasks(enter(broker)) == EVERYTHING
        broker.let_time_pass(45_000)
        assert beat(broker, epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert not broker.faults


@pytest.mark.parametrize("error", ["COORDINATOR_NOT_AVAILABLE", "UNKNOWN_MEMBER_ID"])
def test_a_heartbeat_is_refused(error):
    with EmbeddedBroker() as broker:
        epoch = settle(broker)
        broker.refuse("StreamsGroupHeartbeat", error)
        assert beat(broker, epoch).error_code == ErrorCode[error]
        assert beat(broker, epoch).member_epoch == epoch


def test_older_kafkas_have_none():
    with EmbeddedBroker(config=BrokerConfig(release=(4, 1))) as broker:
        link = Link(broker.bootstrap)
        answer = link.ask(m.ApiVersionsRequest(client_software_name="a",
                                               client_software_version="1"), 4)  # fmt: skip
        link.sock.close()
        assert not {88, 89} & {one.api_key for one in answer.api_keys}
        assert "streams.version" not in {one.name for one in answer.supported_features}


def test_the_command_line_tells_of_tasks():
    with EmbeddedBroker() as broker:
        settle(broker)
        done = CliRunner().invoke(kcore, ["groups", "app", "-b", broker.bootstrap])
        listed = CliRunner().invoke(kcore, ["groups", "--type", "streams", "-b", broker.bootstrap])
    said = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert said[0] == "app: Stable, streams, sticky, 1 member"
    assert {"0 in words -", "1 words - counts"} <= set(said)
    assert said[-1] == "m1 scenario /127.0.0.1 - part 0: 0-1; part 1: 0-1"
    assert listed.stdout.splitlines()[-1].split() == ["app", "streams", "streams", "Stable"]
