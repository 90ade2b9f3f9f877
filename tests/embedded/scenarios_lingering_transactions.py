"""Scenarios of transactions that nobody goes on with for a while: how they are found, what
administrators do to them, and what whoever resumes them is told then.
"""

import time

from raw_client import DEADLINE_S
from scenarios_consumer_groups import JOURNAL_PARTITIONS
from scenarios_groups import ready
from scenarios_resumed_transactions import UNKNOWN_ID, begun, leave, left, resumed
from scenarios_transactions import (
    NEW,
    OLD,
    Producer,
    each_version,
    fetch_offsets,
    look,
    made,
    producers,
)

from kcore.coordinator import partition_for
from kcore.coordinator.journal import OFFSETS_TOPIC
from kcore.wire import messages as m


def listing(peer, names, version=2, **filters):
    """ListTransactions, of these."""
    answer = peer.link().ask(m.ListTransactionsRequest(**filters), version)
    answer.transaction_states = [
        state for state in answer.transaction_states if state.transactional_id in names
    ]
    peer.said.append((f"list v{version} {sorted(filters)}", peer.plain(answer)))


@each_version
def resumed_by_what_is_listed(peer, version):
    """What lingers is found by who writes to a topic, and by the names of those."""
    topic = peer.topic("t")
    kinds = ("open", "committed", "aborted", "idle", "empty")
    known = {kind: made(peer, kind, version) for kind in kinds}
    for kind, one in known.items():
        if kind == "empty":
            one.add((topic, 0))
        elif kind != "idle":
            begun(one, topic, kind.encode())
    known["committed"].end(True)
    known["aborted"].end(False)
    leave(known["open"])
    names = {one.name for one in known.values()}
    producers(peer, topic)
    look(peer, topic)

    def listed():
        for number in range(3):
            listing(peer, names, number)
        listing(peer, names, state_filters=["Ongoing"])
        listing(peer, names, state_filters=["CompleteCommit", "CompleteAbort"])
        for one in known.values():
            listing(peer, names, producer_id_filters=[one.id])
        listing(peer, names, producer_id_filters=[known["open"].id, known["empty"].id, UNKNOWN_ID])
        listing(peer, names, transactional_id_pattern=f"{peer.tag}-(open|idle)")

    listed()
    for kind in ("open", "empty", "idle"):
        heir = Producer(peer, known[kind].name, version, "h")
        heir.init(note="abort")
        heir.settle()
        heir.init(note="abort")
        heir.describe_state()
    listed()
    producers(peer, topic)
    look(peer, topic)


def mark(one, topic, *, ahead=0, partition=0, committed=False, coordinator_epoch=0, level=None):
    """WriteTxnMarkers, as an administrator's. ahead: of the producer's epoch."""
    Markers = m.WriteTxnMarkersRequest
    marker = Markers.WritableTxnMarker(
        producer_id=one.id,
        producer_epoch=one.epoch + ahead,
        transaction_result=committed,
        topics=[Markers.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
        coordinator_epoch=coordinator_epoch,
        transaction_version=level or 0,
    )
    answer = one.peer.link().ask(Markers(markers=[marker]), 1 if level is None else 2)
    for told in answer.markers[0].topics:
        for part in told.partitions:
            part.partition_index = 0  # of offsets, it is the group's
    one.peer.said.append((f"mark {ahead} level {level}", one.peer.plain(answer)))


@each_version
def resumed_after_an_administrator_aborted_it(peer, version):
    """In the log only: its coordinator knows nothing of it, and carries out what it is told."""
    topic = peer.topic("t")
    for committed in (True, False):
        two = left(peer, topic, version, base=f"x{committed:d}")
        mark(two, topic, ahead=-1)
        mark(two, topic)
        producers(peer, topic)
        look(peer, topic)
        two.describe_state()
        two.write(topic, b"late", sequence=2)
        two.end(committed)
        two.describe_state()
        begun(two, topic, b"then")
        two.end(True)
    look(peer, topic)
    producers(peer, topic)


@each_version
def resumed_whose_markers_are_refused(peer, version):
    """By a log that knows a newer epoch of the producer, or of its coordinator: what was decided
    stays so, is carried out elsewhere, and nothing more can be done with the id.
    """
    topic, other, third = peer.topic("t"), peer.topic("u"), peer.topic("v")
    for number, case in enumerate(({"ahead": 2}, {"coordinator_epoch": 100})):
        for committed in (True, False):
            two = made(peer, f"x{number}{committed:d}", version)
            begun(two, topic, b"a")
            begun(two, other, b"a")
            mark(two, topic, **case)
            two.end(committed, settle=False)
            behind = made(peer, f"y{number}{committed:d}", version)
            begun(behind, third, b"b")
            behind.end(True)  # and so the markers before these have been answered
            two.describe_state()
            three = resumed(two, link="r")
            three.end(committed, settle=False)
            three.end(not committed, settle=False)
            three.add((topic, 0))
            three.init(note="anew")
            three.init(known=(two.id, two.epoch), note="known")
            producers(peer, topic)
            look(peer, topic)
            look(peer, other)


@each_version
def resumed_whose_offsets_an_administrator_decided(peer, version):
    """The same about offsets of a group: their markers are those of the group's coordinator."""
    topic = peer.topic("t")
    cases = (
        {}, {"ahead": -1}, {"ahead": 2}, {"coordinator_epoch": 100}, {"level": 1}, {"level": 2},
        {"level": 2, "ahead": 1},
    )  # fmt: skip
    for number, case in enumerate(cases):
        for committed in (True, False):
            group = ready(peer, peer.name(f"g{number}{committed:d}"))
            where = {"partition": partition_for(group, JOURNAL_PARTITIONS)}
            two = made(peer, f"x{number}{committed:d}", version)
            if version == OLD:
                two.add_offsets(group)
            two.commit_offset(group, topic, 5, 5 if version == NEW else 4)
            mark(two, OFFSETS_TOPIC, committed=not committed, **where, **case)
            fetch_offsets(peer, group, topic, True)
            two.end(committed, settle=False)
            behind = made(peer, f"y{number}{committed:d}", version)
            behind.add_offsets(group)
            behind.end(True)  # and so the markers before these have been answered
            two.describe_state()
            resumed(two, link="r").end(committed, settle=False)
            fetch_offsets(peer, group, topic, True)


@each_version
def resumed_after_an_administrator_fenced_it(peer, version):
    """By InitProducerId with its name, and next to no time (KIP-664)."""
    topic = peer.topic("t")
    known = left(peer, topic, version)
    admin = Producer(peer, known.name, version, "h")
    admin.init(timeout_ms=1, note="fence")
    admin.settle()
    admin.init(timeout_ms=1, note="fence")
    for committed in (True, False):
        resumed(known).end(committed)
    known.describe_state()
    two = resumed(known)
    two.init(known=(known.id, known.epoch), note="known")
    two.init()
    begun(two, topic, b"v")
    two.end(True)
    look(peer, topic)


@each_version
def resumed_whose_topic_is_gone(peer, version):
    """Deleted while it was open; then there is one of that name again."""
    topic, other = peer.topic("t"), peer.topic("u")
    for committed, anew in ((True, False), (False, False), (True, True)):
        one = made(peer, f"x{committed:d}{anew:d}", version)
        begun(one, topic, b"a")
        begun(one, other, b"a")
        leave(one)
        deleted(peer, topic)
        if anew:
            peer.topic("t")
        two = resumed(one)
        two.end(committed)
        two.describe_state()
        if not anew:
            peer.topic("t")
        look(peer, topic)
        look(peer, other)
        begun(two, topic, b"b")
        two.end(True)
        look(peer, topic)


def deleted(peer, topic):
    """A topic that is gone for whoever asks."""
    gone = m.DeleteTopicsRequest.DeleteTopicState(name=topic)
    peer.ask(m.DeleteTopicsRequest(topics=[gone], timeout_ms=9_000), 6, note="delete")
    end = time.monotonic() + DEADLINE_S
    while not peer._metadata(topic).error_code:
        assert time.monotonic() < end
        time.sleep(0.02)
