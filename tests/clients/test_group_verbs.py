"""enforce_rebalance, and close with a group membership operation: what users may say, and who hears
it.
"""

import anyloop
import pytest
from async_consumers import consumer, fill, options, run
from scripted_consumer import assigned, make

from kcore import Admin, AsyncConsumer, TopicPartition, errors
from kcore.embedded import EmbeddedBroker
from kcore.structs import GroupMembershipOperation

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def subscribed(**more):
    consumer = make(group_id="g", **more)
    consumer._keeper.start = lambda: None
    consumer.subscribe(["t"])
    consumer.core.log.clear()
    return consumer


# Rebalances -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((), "rebalance enforced by user"),
        (("",), "rebalance enforced by user"),
        ((None,), "rebalance enforced by user"),
        (("more disks",), "more disks"),
    ],
)
def test_a_rebalance_is_asked_for_with_a_reason(given, told):
    consumer = subscribed()
    consumer.enforce_rebalance(*given)
    assert consumer.core.log == [("request_rejoin", told)]


def test_the_next_poll_goes_all_the_way_even_in_the_same_millisecond():
    consumer = subscribed()
    consumer.poll()
    consumer.enforce_rebalance()
    consumer.core.log.clear()
    consumer.poll()
    assert consumer.core.verbs("poll")


def test_the_coordinator_knows_best(caplog):
    consumer = subscribed(group_protocol="consumer")
    consumer.enforce_rebalance("because")
    assert consumer.core.log == []
    assert "cannot ask for a rebalance" in caplog.text


def test_reasons_are_words():
    consumer = subscribed()
    with pytest.raises(TypeError, match="reason"):
        consumer.enforce_rebalance(7)
    assert consumer.core.log == []


def test_without_a_group_there_is_nothing_to_rebalance():
    with pytest.raises(errors.NoGroupIdError):
        assigned().enforce_rebalance()


def test_nor_behind_close():
    consumer = subscribed()
    consumer.close()
    with pytest.raises(errors.ConsumerStoppedError):
        consumer.enforce_rebalance()


# Close ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["leave_group", "remain_in_group"])
@pytest.mark.parametrize("spelled", [str.lower, str.upper])
def test_close_says_what_becomes_of_the_membership(operation, spelled):
    consumer = assigned(group_id="g")
    consumer.close(group_membership_operation=spelled(operation))
    ((_, _, _, said),) = consumer.core.verbs("close")
    assert said is GroupMembershipOperation(operation)


@pytest.mark.parametrize("wrong", ["leave", "", None, 3])
def test_operations_are_three_words_and_nothing_is_closed_for_others(wrong):
    consumer = assigned(group_id="g")
    expected = errors.IllegalArgumentError if isinstance(wrong, str) else TypeError
    with pytest.raises(expected, match="group_membership_operation"):
        consumer.close(group_membership_operation=wrong)
    assert not consumer.core.verbs("close")


def test_a_with_block_does_as_ever():
    with assigned(group_id="g") as consumer:
        pass
    assert len(consumer.core.verbs("close")[0]) == 3


# In an event loop -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as embedded:
        fill(embedded, "t", 2, 50)
        yield embedded


async def until(done):
    while not done():  # bounded by `run`
        await anyloop.sleep(0.01)


def test_an_async_consumer_asks_for_a_rebalance(broker):
    async def main():
        reader = consumer(broker, "t", group_id="asked")
        async with reader:
            before = reader.group_metadata().generation_id
            reader.enforce_rebalance("because")
            await until(lambda: reader.group_metadata().generation_id == before + 1)
            await until(lambda: reader.assignment() == {T0, T1})

    run(main())


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("operation", list(GroupMembershipOperation))
def test_who_is_left_in_the_group(broker, protocol, static, operation):
    name = f"{protocol}-{static}-{operation}"
    given = options(broker, name, group_protocol=protocol)
    given["group_instance_id"] = "i" if static else None
    if protocol == "consumer":
        del given["heartbeat_interval_ms"]  # it is for the coordinator to say

    async def main():
        reader = AsyncConsumer("t", **given)
        await reader.start()
        await reader.stop(group_membership_operation=operation)

    run(main())
    leaves = operation == "leave_group" or (operation == "default" and not static)
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        assert bool(admin.describe_groups([name])[name]["members"]) is not leaves


def test_an_async_consumer_refuses_other_words(broker):
    async def main():
        async with consumer(broker, "t", group_id="words") as reader:
            with pytest.raises(errors.IllegalArgumentError):
                await reader.stop("maybe")
            assert reader.assignment()

    run(main())
