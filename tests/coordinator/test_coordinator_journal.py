"""The journal: its bytes, its replay, and a coordinator killed at every entry."""

import pytest
from consumer_groups_world import ConsumerWorld
from coordinator_world import P0, WALL, World, of_journal, subscription
from group_actors import Chaos
from hypothesis import given, settings
from hypothesis import strategies as st
from longer import examples

from kcore.coordinator import Caller, Entry, GroupState, Marker, partition_for
from kcore.coordinator.journal import group_entry, offset_entry, read_entry
from kcore.errors import CorruptRecordError, IllegalStateError, UsageError
from kcore.timers import NEVER
from kcore.wire import messages as m
from kcore.wire.codec import encode
from kcore.wire.codes import ErrorCode as E

T0, T1 = ("t", 0), ("t", 1)


def test_an_offset_is_written_as_kafka_does():
    value = m.OffsetCommitValue(offset=5, leader_epoch=2, metadata="m", commit_timestamp=WALL)
    entry = offset_entry("g", "t", 3, value)
    assert entry.key.hex() == "0001" + "000167" + "000174" + "00000003"
    time = WALL.to_bytes(8, "big").hex()
    fields = "0000000000000005" + "00000002" + "026d" + time
    assert entry.value.hex() == "0004" + fields + "00"
    value.topic_id = b"i" * 16
    entry = offset_entry("g", "t", 3, value)
    assert entry.value.hex() == "0004" + fields + "010010" + "69" * 16
    value.expire_timestamp = 7
    entry = offset_entry("g", "t", 3, value)
    assert entry.value.hex() == "0001" + "0000000000000005" + "00016d" + time + "0000000000000007"
    assert offset_entry("g", "t", 3, None).value is None


def test_a_group_is_written_as_kafka_does():
    entry = group_entry("g", m.GroupMetadataValue(protocol=None, leader=None))
    assert entry.key.hex() == "0002" + "000167"
    assert entry.value.hex() == "0003" + "0000" + "00000000" + "ffff" + "ffff" + "ff" * 8 + "0" * 8


@given(
    st.builds(
        m.OffsetCommitValue,
        offset=st.integers(0, (1 << 63) - 1),
        leader_epoch=st.integers(-1, (1 << 31) - 1),
        metadata=st.text(max_size=20),
        commit_timestamp=st.integers(0, (1 << 63) - 1),
    )
)
def test_offsets_come_back_as_they_were(value):
    key, found = read_entry(offset_entry("g", "t", 1, value))
    assert (key.group, key.topic, key.partition, found) == ("g", "t", 1, value)


def test_older_and_newer_records_are_read():
    legacy = Entry(bytes.fromhex("0000" + "000167" + "000174" + "00000000"), None)
    value = m.OffsetCommitValue(offset=9, topic_id=b"7" * 16)
    key = offset_entry("g", "t", 0, None).key
    for version in range(5):
        body = version.to_bytes(2, "big") + encode(value, version)
        for entry in (Entry(key, body), Entry(legacy.key, body)):
            w = World(loaded=[entry])
            assert w.fetch() == {T0: (9, 0)}


@pytest.mark.parametrize("key", ["0009000167", "7fff", "0012000167"])
def test_records_of_other_kinds_are_passed_over(key):
    w = World(loaded=[Entry(bytes.fromhex(key), b"\0\0")])
    assert w.groups() == []


@pytest.mark.parametrize(
    "entry",
    [
        Entry(b"", None),
        Entry(b"\0", None),
        Entry(bytes.fromhex("0002"), b""),
        Entry(bytes.fromhex("0002000167"), b""),
        Entry(bytes.fromhex("0002000167"), bytes.fromhex("0009")),
        Entry(bytes.fromhex("0002000167"), bytes.fromhex("0003ff")),
        Entry(bytes.fromhex("000100016700017400000000"), bytes.fromhex("000300")),
        Entry(bytes.fromhex("000200016700"), None),
    ],
)
def test_what_cannot_be_read_is_said(entry):
    w = World()
    w.coordinator.handle_resigned(P0, 0)
    w.coordinator.handle_elected(P0)
    with pytest.raises(CorruptRecordError, match="journal"):
        w.coordinator.handle_entries(P0, [entry], 0)


@pytest.mark.parametrize(
    ("group", "partitions", "found"),
    [
        ("g", 50, 3),
        ("console-consumer-1", 50, 24),
        ("", 50, 0),
        ("\U0001f600", 50, 49),
        ("a-rather-long-group-name-0123456789", 50, 3),
        ("x29640-32.-g", 50, 23),  # a hash below 0
        ("x29640-32.-g", 4, 1),
        ("polygenelubricants", 50, 0),  # the least of all
        ("test", 1, 0),
    ],
)
def test_a_groups_partition(group, partitions, found):
    """Expected: what Java says to Utils.abs(group.hashCode()) % partitions."""
    assert partition_for(group, partitions) == found


def model_of(journal):
    """What a journal says, read without the coordinator: groups, offsets, pending offsets."""
    groups, offsets, pending = {}, {}, {}
    for position, item in enumerate(of_journal(journal)):
        if isinstance(item, Marker):
            for tp, (at, offset) in pending.pop(item.producer_id, {}).items():
                if item.committed and (tp not in offsets or offsets[tp][0] < at):
                    offsets[tp] = (at, offset)
            continue
        key, value = item
        if isinstance(key, m.GroupMetadataKey):
            groups.pop(key.group, None)
            if value is not None:
                groups[key.group] = (value.generation, {x.member_id for x in value.members})
            continue
        tp = (key.group, key.topic, key.partition)
        producer = journal[position].producer_id
        if value is None:
            offsets.pop(tp, None)
            for one in pending.values():
                one.pop(tp, None)
        else:
            groups.setdefault(key.group, (0, set()))
            target = offsets if producer < 0 else pending.setdefault(producer, {})
            target[tp] = (position, value.offset)
    return groups, {tp: offset for tp, (_, offset) in offsets.items()}


def state_of(w):
    """The same, as a coordinator that has loaded it has it."""
    groups = {g.group_id: (g.generation, set(g.members)) for g in w.groups()}
    offsets = {
        (group, *tp): offset for group in groups for tp, (offset, _) in w.fetch(group=group).items()
    }
    return groups, offsets


def goes_on(w):
    """Members are known, and the group gets to its next generation with a new one among them."""
    group = w.coordinator.group("g")
    members = [] if group is None else list(group.members.values())
    known = [(x.member_id, x.instance_id, x.protocols) for x in members]
    generation = 0 if group is None else group.generation
    name = None if group is None else group.protocol_name
    for member_id, instance, _ in known:
        assert w.heartbeat(member_id, generation, instance) == E.NONE
        answer = w.replies[w.sync(member_id, generation, instance=instance, protocol_name=name)]
        assert answer.error_code == E.NONE
    offered = [(x, data) for x, data in known[0][2]] if known else [("range", b"0")]
    tokens = [w.join(version=3, protocols=offered)]
    tokens += [
        w.join(member_id, version=9, instance=instance, protocols=list(protocols), st=60_000)
        for member_id, instance, protocols in known
    ]
    while not all(token in w.replies for token in tokens):
        w.until(w.coordinator.deadline())
    answers = [w.replies[token] for token in tokens]
    assert {a.error_code for a in answers} == {E.NONE}
    assert {a.generation_id for a in answers} == {generation + 1}
    instances = [None, *(instance for _, instance, _ in known)]
    w.sync_all([a.member_id for a in answers], generation + 1, instances)
    assert w.group.state is GroupState.STABLE


def eventful(**mode):
    """A journal in which everything happens that can be written."""
    w = World(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000, **mode)
    protocols = [("range", subscription("t"))]
    a, b = w.form(2, instances="A", protocols=protocols)
    w.commit({T0: 1, T1: 1}, b, 1)
    w.txn_commit({T0: 2}, 7, member_id=b, generation=1)
    w.txn_commit({T1: 3}, 8, member_id=b, generation=1)
    w.commit({T1: 4}, b, 1)
    w.mark(7, committed=True)
    back = w.replies[w.join(instance="A", version=9, protocols=protocols)]
    w.mark(8, committed=False)
    w.commit({("u", 0): 5}, b, 1)
    w.txn_commit({("u", 0): 6}, 9, member_id=b, generation=1)
    w.leave((b, None))
    assert w.error(w.join(back.member_id, instance="A", version=9, protocols=protocols)) == E.NONE
    w.sync(back.member_id, 2, {back.member_id: b"x"}, instance="A")
    w.commit({T0: 1}, group="simple")
    w.mark(9, committed=True)
    w.commit({T0: 1}, group="deleted")
    w.ask(m.DeleteGroupsRequest(groups_names=["deleted"]), 2)
    w.leave(("", "A"))
    w.after(59_000)
    w.commit({T1: 8})
    w.after(2_000)
    return w.journal


EVENTFUL = eventful()


@pytest.mark.parametrize("at", range(len(EVENTFUL) + 1))
def test_killed_at_every_entry_it_goes_on(at):
    journal = EVENTFUL[:at]
    w = World(loaded=journal)
    assert state_of(w) == model_of(journal)
    goes_on(w)
    again = World(loaded=w.journal)
    assert state_of(again) == state_of(w) == model_of(w.journal)


def test_a_journal_that_cannot_fail_is_the_same():
    assert eventful(immediate=True) == EVENTFUL


@settings(max_examples=examples(15))
@given(st.integers(0, 1 << 20), st.data())
def test_killed_anywhere_in_a_random_life_it_goes_on(seed, data):
    chaos = Chaos(seed)
    for _ in range(120):
        chaos.step()
    journal = chaos.world.journal
    at = data.draw(st.integers(0, len(journal)))
    w = World(loaded=journal[:at])
    assert state_of(w) == model_of(journal[:at])
    goes_on(w)
    assert state_of(World(loaded=w.journal)) == model_of(w.journal)


def test_entries_take_effect_when_they_are_appended_not_before():
    w = World()
    w.appending = False
    tokens = [w.commit({T0: 1}), w.commit({T0: 2})]
    assert w.parked(*tokens)
    assert w.fetch(T0) == {T0: (-1, 0)}
    w.settle(count=1)
    assert w.fetch(T0) == {T0: (1, 0)}
    assert w.parked(tokens[1])
    w.settle()
    assert w.fetch(T0) == {T0: (2, 0)}


def test_appends_are_answered_in_their_order():
    w = World()
    w.appending = False
    w.commit({T0: 1})
    w.commit({T0: 2})
    first, second = w.waiting
    with pytest.raises(IllegalStateError, match="turn"):
        w.coordinator.handle_appended(P0, second.number, w.now)
    w.coordinator.handle_appended(P0, first.number, w.now)
    with pytest.raises(IllegalStateError):
        w.coordinator.handle_appended(P0, first.number, w.now)


def test_an_append_of_a_lost_partition_is_not_waited_for():
    w = World()
    w.appending = False
    token = w.commit({T0: 1})
    late = w.waiting[0]
    w.coordinator.handle_resigned(P0, w.now)
    w.drain()
    (code,) = {p.error_code for t in w.replies[token].topics for p in t.partitions}
    assert code == E.NOT_COORDINATOR
    w.coordinator.handle_appended(P0, late.number, w.now)
    w.lead()
    w.coordinator.handle_appended(P0, late.number, w.now)  # from before: not this one's
    assert w.fetch() == {}


def test_appends_not_given_out_yet_are_not_made_for_a_lost_partition():
    w = World()
    w.coordinator.handle_request(
        Caller("x"),
        3,
        m.JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[m.JoinGroupRequest.JoinGroupRequestProtocol(name="range")],
        ),
        0,
    )
    w.coordinator.handle_resigned(P0, 0)
    assert w.coordinator.next_append() is None


def test_partitions_are_led_once_and_loaded_once():
    w = World()
    with pytest.raises(UsageError):
        w.coordinator.handle_elected(P0)
    with pytest.raises(UsageError):
        w.coordinator.handle_entries(P0, [], 0)
    with pytest.raises(UsageError):
        w.coordinator.handle_loaded(7, 0)
    with pytest.raises(UsageError, match="FetchRequest"):
        w.ask(m.FetchRequest(), 12)


def test_many_partitions_know_their_own_groups():
    w = World(offsets_topic_num_partitions=4)
    names = [f"group-{i}" for i in range(12)]
    for name in names:
        assert w.committed({T0: 1}, group=name) == E.NONE
    lost = w.coordinator.partition_for(names[0])
    w.coordinator.handle_resigned(lost, 0)
    for name in names:
        gone = w.coordinator.partition_for(name) == lost
        expected = E.NOT_COORDINATOR if gone else E.NONE
        assert w.committed({T0: 2}, group=name) == expected
    listed = {x.group_id for x in w.ask(m.ListGroupsRequest(), 5).groups}
    assert listed == {x for x in names if w.coordinator.partition_for(x) != lost}
    R = m.OffsetFetchRequest
    request = R(groups=[R.OffsetFetchRequestGroup(group_id=x, topics=None) for x in names])
    found = w.ask(request, 8).groups
    assert [x.group_id for x in found] == names
    assert {x.group_id for x in found if x.error_code} == set(names) - listed
    results = w.ask(m.DeleteGroupsRequest(groups_names=names), 2).results
    assert {x.group_id for x in results if not x.error_code} == listed


def test_a_wall_clock_that_is_set_moves_ages_not_sessions():
    w = World(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    w.commit({T0: 1})
    w.coordinator.set_wall_offset(WALL + 3_600_000)
    w.until(1_000)
    assert w.coordinator.group("g") is None


def test_a_partition_of_the_journal_that_goes_takes_its_groups_along():
    w = ConsumerWorld()
    w.enter("m1")
    w.coordinator.handle_resigned(0, w.now)
    w.drain()
    assert w.beat("m1", 2) == E.NOT_COORDINATOR
    assert w.coordinator.deadline() == NEVER  # sessions are the next owner's
    w.lead()
    assert w.beat("m1", 2) == (2, None)
