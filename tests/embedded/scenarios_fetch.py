"""Scenarios of reading: sessions that end, the order of answers, topics made anew, who asks for
offsets.
"""

import time

from raw_client import DEADLINE_S
from scenarios_data import batch, creating, fetch, produce, scenario
from scenarios_transactions import Producer

from kcore.records import encode_batch
from kcore.wire import messages as m

Asked = m.FetchRequest
Topic = Asked.FetchTopic


def parts(*numbers, offset=0, **more):
    return [
        Asked.FetchPartition(partition=n, fetch_offset=offset, partition_max_bytes=1 << 20, **more)
        for n in numbers
    ]


def asking(*topics, session=0, epoch=0, **more):
    return Asked(
        topics=list(topics),
        session_id=session,
        session_epoch=epoch,
        **{"max_wait_ms": 0, "min_bytes": 1} | more,
    )


@scenario
def sessions_left_by_all(peer):
    """What is asked for by the request that forgets the last of a session is answered."""
    name = peer.topic("t", 2)
    for number in (0, 1):
        peer.ask(produce(name, batch(b"a"), number), 9)
    for asked, forgotten in (([0], [0]), ([1], [0, 1]), ([], [0])):
        session = peer.ask(asking(Topic(topic=name, partitions=parts(0))), 12).session_id
        request = asking(session=session, epoch=1)
        request.topics = [Topic(topic=name, partitions=parts(*asked))] if asked else []
        request.forgotten_topics_data = [Asked.ForgottenTopic(topic=name, partitions=forgotten)]
        peer.ask(request, 12, note=f"{asked} and without {forgotten}")
        peer.ask(asking(session=session, epoch=2), 12)


@scenario
def sessions_ended_by_others(peer):
    """Who waits in one is served; who was overtaken is not."""
    for epoch in (0, -1, 2):
        name = peer.topic(f"t{epoch}")
        entry = Topic(topic=name, partitions=parts(0))
        session = peer.ask(asking(entry), 12).session_id
        peer.send(asking(session=session, epoch=1, max_wait_ms=20_000), 12, link="w")
        time.sleep(0.2)  # so that it waits
        peer.ask(asking(entry, session=session, epoch=epoch), 12, note=f"with epoch {epoch}")
        peer.ask(produce(name, batch(b"a")), 9)
        peer.receive("w", "who waited")


@scenario
def diverging_in_sessions(peer):
    """It is told each time, and its end is no news."""
    name = peer.topic("t")
    peer.ask(produce(name, batch(b"a")), 9)
    apart = Topic(topic=name, partitions=parts(0, offset=9, last_fetched_epoch=0))
    right = Topic(topic=name, partitions=parts(0, offset=1))
    for level in (0, 1):
        session = peer.ask(asking(apart, isolation_level=level), 12).session_id
        for epoch, topics in enumerate(([], [right], [], [apart], [], [right], []), 1):
            request = asking(*topics, session=session, epoch=epoch, isolation_level=level)
            peer.ask(request, 12, note=f"{epoch} at level {level}")


@scenario
def order_of_answers(peer):
    """What is not there comes last; a topic has an entry for each of its rows of partitions."""
    first, second, none = peer.topic("t", 3), peer.topic("u", 2), peer.name("none")

    def ask(request):
        answer = peer.link().ask(request, 12)
        told = [
            (entry.topic, [(part.partition_index, part.error_code) for part in entry.partitions])
            for entry in answer.responses
        ]
        peer.said.append(("order", told))
        return answer.session_id

    def entries(*wanted):
        return [Topic(topic=name, partitions=parts(*numbers)) for name, *numbers in wanted]

    ask(asking(*entries((first, 0), (second, 0), (first, 1, 2)), epoch=-1))
    ask(asking(*entries((first, 0, 9, 1), (second, 7, 0), (first, 2, 8)), epoch=-1))
    ask(asking(*entries((first, 0, 1, 0)), epoch=-1))
    session = ask(asking(*entries((first, 0, 9, 1), (none, 0), (second, 0))))
    for epoch, written in enumerate(([(first, 0), (second, 0)], [(first, 1)], [(second, 0)]), 1):
        for name, number in written:
            peer.ask(produce(name, batch(b"a"), number), 9)
        ask(asking(session=session, epoch=epoch))


@scenario
def topics_made_anew(peer):
    """Who reads the old one by its id is told at once, whatever else he waits for."""
    name, other = peer.topic("t", 2), peer.topic("u")
    asked = [
        Topic(topic_id=peer.id_of(name), partitions=parts(0, 1)),
        Topic(topic_id=peer.id_of(other), partitions=parts(0)),
    ]
    session = peer.ask(asking(*asked), 16).session_id
    peer.ask(m.DeleteTopicsRequest(topic_names=[name], timeout_ms=5_000), 5)
    end = time.monotonic() + DEADLINE_S
    while peer.link().ask(creating(name), 7).topics[0].error_code:
        assert time.monotonic() < end
        time.sleep(0.05)
    peer.settled(name, 1)
    for level in (0, 1):
        request = asking(
            session=session, epoch=1 + level, max_wait_ms=20_000, isolation_level=level
        )
        peer.ask(request, 16, note=f"anew, at level {level}")
    peer.ask(asking(*asked), 16, note="by the old id, in no session")


@scenario
def topics_deleted_while_one_waits(peer):
    for version in (12, 16):
        name = peer.topic(f"t{version}")
        known = {"topic": name} if version == 12 else {"topic_id": peer.id_of(name)}
        asked = asking(Topic(partitions=parts(0), **known), epoch=-1, max_wait_ms=20_000)
        peer.send(asked, version, link="w")
        time.sleep(0.2)  # so that it waits
        peer.ask(m.DeleteTopicsRequest(topic_names=[name], timeout_ms=5_000), 5)
        peer.receive("w", "who waited")


@scenario
def first_batches_that_are_too_large(peer):
    """They are given, so that they count as what is waited for."""
    name = peer.topic("t", 2)
    peer.ask(produce(name, batch(b"x" * 5_000)), 9)
    peer.ask(produce(name, batch(b"x"), 1), 9)
    for numbers, least in (((0,), 1_000), ((0,), 6_000), ((1, 0), 1_000), ((0, 1), 5_100)):
        entry = Topic(topic=name, partitions=parts(*numbers))
        for part in entry.partitions:
            part.partition_max_bytes = 100
        begun = time.monotonic()
        peer.ask(asking(entry, epoch=-1, max_wait_ms=600, min_bytes=least), 12)
        waited = time.monotonic() - begun > 0.4
        peer.said.append((f"{numbers}, {least} bytes", waited))


@scenario
def records_without_a_time(peer):
    untimed, some = peer.topic("t"), peer.topic("u")
    for _ in range(2):
        peer.ask(produce(untimed, encode_batch([(-1, None, b"x")])), 9)
    peer.ask(produce(some, encode_batch([(time, None, b"x") for time in (-1, 0, -1)])), 9)
    for name in (untimed, some):
        for timestamp in (-3, 0, 1):
            peer.ask(offset_of(name, timestamp), 7, note=f"{timestamp} of {name}")


def offset_of(name, timestamp, **more):
    Offsets = m.ListOffsetsRequest
    part = Offsets.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    entry = Offsets.ListOffsetsTopic(name=name, partitions=[part])
    return Offsets(**{"replica_id": -1, "topics": [entry]} | more)


@scenario
def offsets_as_a_replica(peer):
    """Who says that he is one is told of what cannot be read yet, too."""
    name = peer.topic("t")
    producer = Producer(peer, peer.name("tx"), version=4)
    producer.find()
    producer.init()
    peer.ask(produce(name, batch(b"a")), 9)
    producer.add((name, 0))
    producer.write(name, b"b")
    for replica in (-1, -2, 0, 5):
        for level in (0, 1):
            for timestamp in (-1, -2, 0):
                request = offset_of(name, timestamp, replica_id=replica, isolation_level=level)
                peer.ask(request, 7, note=f"{timestamp} as {replica} at level {level}")
    for offset in (0, 1, 2):
        peer.ask(fetch(name, offset, isolation_level=1), 12)
    producer.end(committed=False)
