"""Scenarios of transactions that another connection goes on with: it knows the transactional id and
has the producer id and epoch of who began it, as Flink's committers after a restart.
"""

import time

from raw_client import DEADLINE_S
from scenarios_data import produce, scenario
from scenarios_groups import ready
from scenarios_transactions import (
    NEW,
    OLD,
    Producer,
    each_version,
    fetch_offsets,
    look,
    made,
    producers,
    read,
    wait_stable,
)

from kcore.records import encode_batch
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

OTHER = {OLD: NEW, NEW: OLD}
UNKNOWN_ID = 1_000_000_007


def leave(one):
    """Its connection is gone, and whatever was open stays open."""
    one.peer._links.pop(one.link).close()


def resumed(one, version=None, link="q"):
    """Another producer in its place, on a connection of its own, which has asked for nothing."""
    other = Producer(one.peer, one.name, version or one.version, link)
    other.id, other.epoch = one.id, one.epoch
    other.sequences = dict(one.sequences)
    return other


def begun(one, topic, *values, partition=0):
    """It has written these in a transaction, in the way of its version."""
    if one.version == OLD:
        one.add((topic, partition))
    for value in values:
        one.write(topic, value, partition)


def left(peer, topic, version, base="x", values=(b"a", b"b")):
    """Who is to go on with a transaction that somebody left open."""
    one = made(peer, base, version)
    begun(one, topic, *values)
    leave(one)
    return resumed(one)


@each_version
def resumed_and_committed(peer, version):
    topic = peer.topic("t")
    two = left(peer, topic, version)
    two.describe_state()
    look(peer, topic)
    two.end(True)
    two.describe_state()
    look(peer, topic)
    producers(peer, topic)
    begun(two, topic, b"c")
    two.end(True)
    look(peer, topic)


@each_version
def resumed_and_aborted(peer, version):
    topic = peer.topic("t")
    two = left(peer, topic, version)
    two.end(False)
    two.describe_state()
    look(peer, topic)
    producers(peer, topic)
    begun(two, topic, b"c")
    leave(two)
    resumed(two, link="r").end(True)
    look(peer, topic)


@each_version
def resumed_and_ended_again(peer, version):
    """A committer does not know whether the one before it was done, nor does one that is told so
    go on: each has what the checkpoint says.
    """
    topic = peer.topic("t")
    for committed in (True, False):
        known = left(peer, topic, version, base=f"x{committed:d}")
        resumed(known).end(committed)
        for again in (committed, not committed, committed):
            other = resumed(known, link="r")
            other.end(again)
            leave(other)
        resumed(known, OTHER[version]).end(committed)
        resumed(known, OTHER[version]).end(not committed)
        known.describe_state()
    look(peer, topic)


@each_version
def resumed_with_another_epoch(peer, version):
    topic = peer.topic("t")
    one = made(peer, "x", version)
    begun(one, topic, b"a")
    one.end(True)
    one.init()
    begun(one, topic, b"b")
    leave(one)
    for epoch in (one.epoch - 1, one.epoch - 2, 0, one.epoch + 1, one.epoch + 2, 0x7FFF, -1):
        two = resumed(one)
        for committed in (True, False):
            two.end(committed, epoch=epoch, settle=False)
        two.add((topic, 0), epoch=epoch)
        two.write(topic, b"not", sequence=1, epoch=epoch)
        two.write(topic, b"not", sequence=0, epoch=epoch)
        leave(two)
        one.link = "r"
        one.describe_state()
    resumed(one).end(True)
    look(peer, topic)


@scenario
def resumed_with_another_epoch_by_each_version(peer):
    """What clients of before know of errors."""
    topic = peer.topic("t")
    one = left(peer, topic, OLD)
    for version in range(6):
        for epoch in (one.epoch - 1, one.epoch + 1):
            one.end(True, epoch=epoch, version=version, settle=False)
    for version in range(6):
        two = left(peer, topic, OLD, base=f"y{version}")
        two.end(True, version=version)
        resumed(two).end(False, version=version)
    one.end(False)
    look(peer, topic)


@each_version
def resumed_by_a_stranger(peer, version):
    """With another's producer id, with nobody's, and under another's name."""
    topic = peer.topic("t")
    one, other = left(peer, topic, version), made(peer, "y", version, "s")
    begun(other, topic, b"other")
    for producer_id in (other.id, UNKNOWN_ID, -1):
        two = resumed(one)
        two.id = producer_id
        for committed in (True, False):
            two.end(committed, settle=False)
        two.add((topic, 0))
        two.init(known=(producer_id, two.epoch), note="known")
        two.write(topic, b"not", sequence=2)
    for name in (other.name, peer.name("nobody"), ""):
        two = resumed(one)
        two.name = name
        two.end(True, settle=False)
        two.write(topic, b"two", sequence=2)
    one.describe_state()
    one.end(True)
    other.end(True)
    look(peer, topic)


@each_version
def resumed_after_somebody_began_anew(peer, version):
    """InitProducerId aborts what is open: who comes with what the checkpoint says is fenced."""
    topic = peer.topic("t")
    known = left(peer, topic, version)
    heir = Producer(peer, known.name, version, "h")
    heir.init(note="while open")
    heir.settle()
    for committed in (True, False):
        resumed(known).end(committed)
    known.describe_state()
    heir.init(note="then")
    for committed in (True, False):
        resumed(known).end(committed)
    begun(heir, topic, b"heir")
    for committed in (True, False):
        resumed(known).end(committed, settle=False)
    resumed(known).add((topic, 0))
    resumed(known).write(topic, b"late")
    heir.end(True)
    for committed in (True, False):
        resumed(known).end(committed)
    look(peer, topic)
    producers(peer, topic)


@each_version
def resumed_after_its_end_somebody_began_anew(peer, version):
    """It was committed, and the next one under this name is at work, when commit comes again."""
    topic = peer.topic("t")
    known = left(peer, topic, version)
    resumed(known).end(True)
    heir = Producer(peer, known.name, version, "h")
    heir.init()
    for committed in (True, False):
        resumed(known).end(committed)
    begun(heir, topic, b"heir")
    resumed(known).end(True, settle=False)
    heir.describe_state()
    heir.end(True)
    resumed(known).end(True)
    look(peer, topic)


@each_version
def resumed_without_records(peer, version):
    """Nothing was begun; or something was, and nothing written."""
    topic = peer.topic("t")
    for number, committed in enumerate((True, False)):
        one = made(peer, f"x{number}", version)
        leave(one)
        two = resumed(one)
        two.end(committed)
        two.describe_state()
        for again in (True, False):
            resumed(one).end(again)
        two.describe_state()
        three = made(peer, f"y{number}", version)
        three.add((topic, 0))
        leave(three)
        four = resumed(three)
        four.end(committed)
        four.describe_state()
        resumed(three).end(committed)
        look(peer, topic)


@each_version
def resumed_and_written_to(peer, version):
    """Sequences go on, whoever sends them; what takes part already is added again."""
    topic = peer.topic("t", 2)
    two = left(peer, topic, version)
    two.add((topic, 0))
    two.add((topic, 1))
    two.write(topic, b"again", sequence=0)
    two.write(topic, b"again", sequence=1)
    two.write(topic, b"gap", sequence=3)
    two.write(topic, b"c", sequence=2)
    two.write(topic, b"d", 1, sequence=4)
    two.write(topic, b"d", 1, sequence=0)
    two.describe_state()
    leave(two)
    three = resumed(two, link="r")
    three.write(topic, b"e", 1, sequence=1)
    three.end(True)
    look(peer, topic)
    read(peer, topic, 1, partition=1)
    producers(peer, topic)


@each_version
def resumed_while_who_began_it_is_there(peer, version):
    """It writes on, unaware, before and after the other's end."""
    topic = peer.topic("t", 2)
    one = made(peer, "x", version)
    begun(one, topic, b"a")
    two = resumed(one)
    two.write(topic, b"b")
    one.write(topic, b"c", sequence=2)
    two.end(True)
    for number, sequence in ((0, 3), (0, 0), (1, 0)):
        one.write(topic, b"late", number, sequence=sequence)
    one.add((topic, 1))
    one.write(topic, b"later", 1, sequence=0)
    one.describe_state()
    two.end(True)
    one.describe_state()
    one.end(False)
    one.describe_state()
    look(peer, topic)
    read(peer, topic, 1, partition=1)


@each_version
def resumed_with_offsets(peer, version):
    """Each step of it is another connection's."""
    topic, group = peer.topic("t"), ready(peer, peer.name("g"))
    commit_version = 5 if version == NEW else 4
    one = made(peer, "x", version)
    for offset, committed in ((5, True), (9, False)):
        begun(one, topic, b"a")
        if version == OLD:
            resumed(one).add_offsets(group)
        two = resumed(one, link="r")
        two.commit_offset(group, topic, offset, commit_version, epoch=one.epoch - 1)
        two.commit_offset(group, topic, offset, commit_version)
        two.commit_offset(group, topic, offset + 1, commit_version)
        leave(two)
        two.describe_state()
        fetch_offsets(peer, group, topic, True)
        fetch_offsets(peer, group, topic, False)
        three = resumed(one, link="s")
        three.end(committed)
        wait_stable(peer, group, topic)
        fetch_offsets(peer, group, topic, True)
        resumed(one).commit_offset(group, topic, 20, commit_version)
        resumed(one).end(committed)
        one.init()
    wait_stable(peer, group, topic)
    fetch_offsets(peer, group, topic, True)
    look(peer, topic)


def timed_out(one):
    """Wait until its coordinator has ended what it left open."""
    end = time.monotonic() + DEADLINE_S
    asked = m.DescribeTransactionsRequest(transactional_ids=[one.name])
    while True:
        (found,) = one.peer.link().ask(asked, 0).transaction_states
        if found.transaction_state == "CompleteAbort":
            return
        assert time.monotonic() < end
        time.sleep(0.02)


@scenario
def resumed_after_its_timeout(peer):
    """All of them at once: a Kafka looks every ten seconds only. One request begins each, and each
    has a partition of its own, so that nothing could be too late for anything.
    """
    topic = peer.topic("t", 8)
    known = []
    for number in range(8):
        version = (OLD, NEW)[number % 2]
        one = made(peer, f"x{number}", version)
        one.init(timeout_ms=100)
        if version == OLD:
            one.add((topic, number))
        else:
            one.write(topic, b"v", number)
        known.append(one)
    for one in known:
        timed_out(one)
    for number, one in enumerate(known):
        two = resumed(one)
        if number < 2:
            two.end(True)
            resumed(one, OTHER[one.version]).end(True)
            two.add((topic, number))
            two.write(topic, b"late", number, sequence=0)
            two.write(topic, b"late", number, sequence=1)
            two.end(True)
        elif number < 4:
            two.end(False)
            resumed(one, OTHER[one.version]).end(False)
        elif number < 6:
            two.init(known=(one.id, one.epoch), note="known")
        else:
            two.init()
            resumed(one).end(True)
        two.describe_state()
        begun(two, topic, b"then", partition=number)
        two.end(True)
        read(peer, topic, 1, partition=number)


@each_version
def resumed_by_a_producer_that_keeps_its_id(peer, version):
    """InitProducerId with id and epoch (KIP-360), of more than one at a time."""
    topic = peer.topic("t")
    known = left(peer, topic, version)
    two = resumed(known)
    two.init(known=(known.id, known.epoch), note="while open")
    two.settle()
    two.describe_state()
    two.init(known=(known.id, known.epoch), note="then")
    two.init(known=(known.id, known.epoch + 1), note="next")
    two.init(known=(known.id, known.epoch + 2), note="the one after")
    known.describe_state()
    two.init(note="anew")
    three = resumed(two, link="r")
    three.init(known=(two.id, two.epoch), note="three")
    two.init(known=(two.id, two.epoch), note="two")
    begun(three, topic, b"three")
    begun(two, topic, b"two")
    three.end(True)
    two.end(True)
    look(peer, topic)


@scenario
def resumed_by_clients_of_the_other_kind(peer):
    """With and without an epoch for each transaction (KIP-890), in turns: who begins it knows that
    brokers speak of it, who ends it without having asked for anything does not.
    """
    topic = peer.topic("t", 2)
    for number, version in enumerate((OLD, NEW)):
        one = made(peer, f"x{number}", version)
        for committed in (True, False, True):
            begun(one, topic, b"a")
            one.describe_state()
            two = resumed(one, OTHER[version])
            two.end(committed)
            two.describe_state()
            producers(peer, topic)
            for again in (OTHER[version], version):
                other = resumed(one, again)
                other.end(committed)
                other.describe_state()
            one.init(known=(two.id, two.epoch), note="known")
        begun(one, topic, b"b")
        two = resumed(one, OTHER[version])
        two.add((topic, 1))
        two.write(topic, b"c", 1)
        two.describe_state()
        one.write(topic, b"d")
        one.end(True)
        one.describe_state()
    look(peer, topic)
    read(peer, topic, 1, partition=1)


@scenario
def resumed_without_a_new_beginning(peer):
    """The same id and epoch go on after the end, as a producer that is used again does."""
    topic = peer.topic("t")
    for number, version in enumerate((OLD, NEW)):
        one = made(peer, f"x{number}", version)
        begun(one, topic, b"a")
        resumed(one, OTHER[version]).end(True)
        one.sequences.clear()
        begun(one, topic, b"b")
        one.write(topic, b"c", sequence=1)
        one.describe_state()
        one.end(True)
        one.describe_state()
    look(peer, topic)


@scenario
def resumed_by_a_producer_without_a_name(peer):
    """Who has only the producer id and epoch can write nothing into it."""
    topic = peer.topic("t")
    one = made(peer, "x", NEW)
    begun(one, topic, b"a")
    two = resumed(one)
    for name in (None, "", peer.name("y")):
        two.name = name
        for transactional in (True, False):
            data = (name, transactional)
            answer = wrote(two, topic, transactional=transactional)
            peer.said.append((f"write {data}", ErrorCode(answer).name))
    one.end(True)
    look(peer, topic)


def wrote(one, topic, *, transactional):
    """The code that its next record is answered with."""
    data = encode_batch(
        [(time.time_ns() // 1_000_000, b"k", b"v")], producer_id=one.id,
        producer_epoch=one.epoch, base_sequence=1, transactional=transactional,
    )  # fmt: skip
    answer = one.peer.link("q").ask(produce(topic, data, transactional_id=one.name), 12)
    return answer.responses[0].partition_responses[0].error_code
