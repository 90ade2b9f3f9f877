"""An admin client and brokers that offer what each Kafka did: what they have is used, what they
lack is said.
"""

import pytest

import kcore
from kcore import errors
from kcore.admin import AbortTransactionSpec, ConfigResource, MemberToRemove, OffsetSpec
from kcore.broker.config import BrokerConfig
from kcore.embedded import EmbeddedBroker
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.wire.releases import RELEASES

T0, T1 = (TopicPartition("t", number) for number in range(2))


@pytest.fixture(scope="module", params=RELEASES, ids=lambda release: ".".join(map(str, release)))
def running(request):
    with EmbeddedBroker(config=BrokerConfig(release=request.param)) as broker:
        broker.create_topic("t", 2)
        broker.produce("t", [(None, b"x")] * 10, partition=0)
        with kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
            yield request.param, broker, admin


def since(release, wanted, call):
    """What a call gives where the release has it; where not, that is said."""
    if release >= wanted:
        return call()
    with pytest.raises(errors.UnsupportedVersionError):
        call()
    return None


def test_topics(running):
    release, broker, admin = running
    since(release, (2, 4), lambda: admin.create_topics(["defaults"]))
    admin.create_topics({"a": {"num_partitions": 2, "replication_factor": 1}})
    assert {"a", "t"} <= set(admin.list_topics())
    assert len(admin.describe_topics(["a"])[0]["partitions"]) == 2
    admin.create_partitions({"a": 3})
    assert broker.topics()["a"] == 3
    admin.delete_topics(["a"])
    admin.delete_records({TopicPartition("t", 1): -1})
    assert admin.describe_cluster()["brokers"][0]["broker_id"] == 1
    assert admin.describe_log_dirs()


def test_configurations(running):
    release, _, admin = running
    resource = ConfigResource("topic", "t", {"retention.ms": "7"})
    since(release, (2, 4), lambda: admin.alter_configs([resource]))
    told = admin.describe_configs([ConfigResource("topic", "t")])["topic"]["t"]
    assert ("retention.ms" in told) == (release >= (2, 4))


def test_transactions(running):
    release, _, admin = running
    number, _ = admin.fence_producers(["x"])["x"]
    listed = since(release, (3, 0), admin.list_transactions)
    assert listed is None or listed[1][0].producer_id == number
    described = since(release, (3, 0), lambda: admin.describe_transactions(["x"]))
    assert described is None or described["x"].producer_id == number
    since(release, (3, 9), lambda: admin.list_transactions(duration_filter_ms=1))
    since(release, (4, 1), lambda: admin.list_transactions(transactional_id_pattern="x"))
    assert since(release, (2, 8), admin.find_hanging_transactions) in ([], None)
    marker = AbortTransactionSpec(T1, number, 0, 0)
    since(release, (2, 8), lambda: admin.abort_transaction(marker))


def test_groups(running):
    release, broker, admin = running
    with kcore.Consumer("t", group_id="g", bootstrap_servers=broker.bootstrap) as member:
        while not member.assignment():
            member.poll(50)
        row = admin.describe_groups(["g"])["g"]
        assert (row["group_state"], row["group_type"]) == ("Stable", "classic")
        gone = [MemberToRemove(member.group_metadata().member_id)]
        assert list(admin.remove_group_members("g", gone).values()) == [errors.NoError]
    assert admin.describe_groups(["nope"])["nope"]["group_state"] == "Dead"
    assert [row["group_id"] for row in admin.list_groups()] == ["g"]
    since(release, (2, 8), lambda: admin.list_groups(states_filter=["Empty"]))
    since(release, (3, 9), lambda: admin.list_groups(types_filter=["classic"]))
    assert admin.delete_groups(["g"])["g"] == "OK"


def test_offsets(running):
    release, _, admin = running
    assert admin.alter_group_offsets("o", {T0: OffsetAndMetadata(4, "m", -1)}, raise_errors=True)
    admin.alter_group_offsets("p", {T0: OffsetAndMetadata(5, "m", -1)}, raise_errors=True)
    found = admin.list_group_offsets(["o", "p"])
    assert {group: at[T0].offset for group, at in found.items()} == {"o": 4, "p": 5}
    assert admin.lag("o")[T0].lag == 6
    assert admin.reset_group_offsets("o", OffsetSpec.EARLIEST)[T0]["offset"] == 0
    newest = {T0: OffsetSpec.MAX_TIMESTAMP}
    since(release, (3, 0), lambda: admin.list_partition_offsets(newest))
    since(release, (2, 4), lambda: admin.delete_group_offsets("o", [T0], raise_errors=True))
