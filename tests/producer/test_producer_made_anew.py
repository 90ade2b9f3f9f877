"""A topic that is deleted and made anew under its name, to a producer that knows ids: its new log
knows nothing of the producer, and takes whatever comes first for its beginning.
"""

import pytest
from scripted_producer import NO_ANSWER, NOT_LEADER, small_batches, values

from kcore.wire.apis import ApiKey

OLD, NEW = b"o" * 16, b"n" * 16


def remaking(at, **options):
    """The batch of that number is on its way when its topic is made anew. What is asked for by the
    old one's id after that is refused.
    """
    world, cluster, client = small_batches(
        nodes=2,
        topics={"t": 2},
        request_timeout_ms=1_000,
        delivery_timeout_ms=20_000,
        metadata_max_age_ms=300,
        **options,
    )
    cluster.apis |= {ApiKey.PRODUCE: (3, 13)}
    cluster.topic_ids = {"t": OLD}
    seen = []

    def fault(_node, _topic, number, _data):
        seen.append(number)
        if number == 0 and seen.count(0) == at:
            cluster.make_anew("t", NEW)
            return NO_ANSWER
        return None

    cluster.fault = fault
    return world, cluster, client


def on_its_way(world, client, wanted):
    """The first is there, the second on its way; its producer hears of the new one meanwhile, from
    a node that it knows because that leads another partition.
    """
    client.send_soon(b"x", partition=1)
    client.send_soon(wanted[0], partition=0)
    client.flush()
    client.send_soon(wanted[1], partition=0)
    client.core.flush(world.now)
    client.drain()
    world.run(600)


@pytest.mark.parametrize("later", [2, 6])
def test_what_is_behind_a_batch_on_its_way_to_the_old_one_comes_behind_it(later):
    wanted = values(2 + later)
    world, cluster, client = remaking(2)
    on_its_way(world, client, wanted)
    for value in wanted[2:]:
        client.send_soon(value, partition=0)
    client.flush()
    assert client.errors() == []
    assert cluster.log().values == wanted[1:], "in their order"
    assert cluster.ids == 1, "nothing was out of order: it did not need another epoch"


def test_the_first_batch_to_the_new_one_goes_alone():
    world, cluster, client = remaking(2)
    wanted = values(8)
    on_its_way(world, client, wanted)
    refused = []
    made_anew = cluster.fault

    def fault(node, topic, number, data):
        # The leader is not ready yet: what comes behind must not be its beginning.
        if cluster.topic_ids["t"] == NEW and not refused:
            refused.append(data)
            return NOT_LEADER
        return made_anew(node, topic, number, data)

    cluster.fault = fault
    for value in wanted[2:]:
        client.send_soon(value, partition=0)
    client.flush()
    assert client.errors() == []
    assert refused
    assert cluster.log().values == wanted[1:]
    assert cluster.ids == 1
