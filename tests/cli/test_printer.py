"""`kcore consume`: what was printed is what gets committed, on a consumer made up for it."""

import io
import os
import signal
import time
from types import SimpleNamespace

import pytest

from kcore import Consumer
from kcore.cli.consume import ConsumeOptions, Printer, open_consumer
from kcore.errors import CommitFailedError, KafkaTimeoutError, RebalanceInProgressError
from kcore.structs import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class MadeUpConsumer:
    def __init__(self, records):
        self.records = records  # tp -> list of values, still to be polled
        self.at = dict.fromkeys(records, 0)
        self.ends = {tp: len(values) for tp, values in records.items()}
        self.commits = []
        self.refusal = None

    def poll(self, timeout_ms, max_records):
        for tp, values in self.records.items():
            first = self.at[tp]
            taken = values[first : first + max_records]
            if taken:
                self.at[tp] += len(taken)
                numbered = enumerate(taken, first)
                return {tp: [SimpleNamespace(offset=at, value=value) for at, value in numbered]}
        return {}

    def assignment(self):
        return set(self.records)

    def end_offsets(self, partitions, timeout_ms=None):
        return {tp: self.ends[tp] for tp in partitions}

    def position(self, partition, timeout_ms):
        return self.at[partition]

    def commit(self, offsets):
        if self.refusal:
            raise self.refusal
        self.commits.append({tp: behind.offset for tp, behind in offsets.items()})


def printer(consumer, out=None, **options):
    given = {"topics": ("t",), "bootstrap": "h:1", "group": "g"} | options
    return Printer(
        consumer, ConsumeOptions(**given), lambda record: record.value, out or io.BytesIO()
    )


def test_max_is_exact_and_commits_only_what_was_printed():
    consumer = MadeUpConsumer({T0: [b"a", b"b", b"c", b"d"]})
    out = io.BytesIO()
    prints = printer(consumer, out, count=3)
    while not prints.finished():
        prints.step()
    prints.commit()
    assert out.getvalue() == b"abc"
    assert consumer.commits == [{T0: 3}]


def test_max_is_of_all_polls():
    consumer, out = MadeUpConsumer({T0: [b"a", b"b"], T1: [b"c", b"d"]}), io.BytesIO()
    asked = printer(consumer, out, count=3)
    while not asked.finished():
        asked.step()
    asked.end()
    assert out.getvalue() == b"abc"
    assert consumer.commits == [{T0: 2, T1: 1}]


def test_what_was_printed_is_committed_while_it_goes_on(monkeypatch):
    """Who is killed prints what came in the last second again, not all of it."""
    consumer = MadeUpConsumer({T0: [b"a", b"b"]})
    asked = printer(consumer)
    asked.step()
    assert consumer.commits == []
    monkeypatch.setattr(time, "monotonic", lambda: 1e9)
    asked.step()
    assert consumer.commits == [{T0: 2}]


def test_commit_is_once_per_progress():
    consumer = MadeUpConsumer({T0: [b"a"]})
    prints = printer(consumer)
    prints.step()
    prints.commit()
    prints.commit()
    assert consumer.commits == [{T0: 1}]


def test_without_a_group_nothing_is_committed():
    consumer = MadeUpConsumer({T0: [b"a"]})
    prints = printer(consumer, group=None)
    prints.step()
    prints.commit()
    assert consumer.commits == []


def test_exit_stops_at_the_ends_of_when_it_began():
    consumer = MadeUpConsumer({T0: [b"a", b"b"], T1: [b"c"]})
    prints = printer(consumer, stop_at_end=True)
    steps = 0
    while not prints.finished():
        prints.step()
        consumer.ends = dict.fromkeys(consumer.ends, 100)  # others go on writing
        steps += 1
    assert steps == 2


def test_unknown_position_is_not_an_end():
    consumer = MadeUpConsumer({T0: []})
    prints = printer(consumer, stop_at_end=True)

    def timed_out(partition, timeout_ms):
        raise KafkaTimeoutError("no position yet")

    consumer.position = timed_out
    assert not prints.finished()


class ClosedPipe(io.BytesIO):
    def flush(self):
        raise BrokenPipeError


def test_a_batch_that_was_not_printed_is_not_committed():
    consumer = MadeUpConsumer({T0: [b"a"]})
    prints = printer(consumer, ClosedPipe())
    with pytest.raises(BrokenPipeError):
        prints.step()
    prints.commit()
    assert consumer.commits == []


def test_a_rebalance_before_a_commit_is_said_and_survived(capsys):
    consumer = MadeUpConsumer({T0: [b"a", b"b"]})
    prints = printer(consumer)
    prints.step()
    consumer.refusal = CommitFailedError("rebalanced")
    prints.commit()
    assert "rebalanced before a commit" in capsys.readouterr().err


def test_a_commit_while_the_group_rebalances_is_made_behind_that():
    consumer = MadeUpConsumer({T0: [b"a"], T1: [b"b", b"c"]})
    prints = printer(consumer, count=3)
    consumer.refusal = RebalanceInProgressError("join again first")
    for _ in range(2):
        prints.step()
        prints.commit()
    assert consumer.commits == []
    consumer.refusal = None
    prints.commit()
    assert consumer.commits == [{T0: 1, T1: 2}]
    prints.end()
    assert len(consumer.commits) == 1


def test_what_is_printed_again_is_said_at_the_end(capsys):
    consumer = MadeUpConsumer({T0: [b"a"]})
    prints = printer(consumer)
    prints.step()
    consumer.refusal = RebalanceInProgressError("join again first")
    prints.end()
    assert "rebalanced before a commit" in capsys.readouterr().err
    alone = printer(MadeUpConsumer({T0: [b"a"]}), group=None)
    alone.step()
    alone.end()
    assert not capsys.readouterr().err


def test_what_a_commit_inside_a_poll_fails_of_ends_it_in_its_own_words():
    consumer = MadeUpConsumer({T0: [b"a", b"b"]})
    prints = printer(consumer)
    prints.step()
    consumer.refusal = KafkaTimeoutError("nobody answers")
    prints.on_partitions_revoked({T0})
    with pytest.raises(KafkaTimeoutError, match="nobody answers"):
        prints.step()


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_member_that_comes_and_takes_its_time_ends_nothing(kcore_broker, strategy):
    """Of what was printed before it is committed, others print nothing again."""
    kcore_broker.create_topic("reb", 4)
    records = [(None, b"%d" % number) for number in range(100)]
    kcore_broker.produce("reb", records, partition=1)
    settings = {
        "bootstrap_servers": kcore_broker.bootstrap,
        "partition_assignment_strategy": [strategy],
        "heartbeat_interval_ms": 50,
    }
    options = ConsumeOptions(
        ("reb",), kcore_broker.bootstrap, strategy, start="earliest", settings=settings
    )
    with open_consumer(options) as consumer:
        prints = Printer(consumer, options, lambda record: b"", io.BytesIO())
        consumer.subscribe(["reb"], listener=prints)
        while prints._printed < 100:
            prints.step()
        others = [Consumer("reb", group_id=strategy, **settings) for _ in range(2)]
        first, second = others
        while not first.assignment():
            first.poll(20)
            prints.step()
        second.poll(20)  # it joins, and the first of them does not look for a while
        late = time.monotonic() + 0.7
        while time.monotonic() < late:
            kcore_broker.produce("reb", records[:1], partition=3)
            prints.step()
            prints.commit()
        end = time.monotonic() + 20
        while not second.assignment():
            assert time.monotonic() < end
            first.poll(20)
            second.poll(20)
            prints.step()
        prints.end()
        assert consumer.committed(TopicPartition("reb", 1)) == 100
        for other in others:
            other.close()


class InterruptedAfter(io.BytesIO):
    """What a terminal does when Ctrl-C meets a line that has just been printed."""

    def flush(self):
        os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_right_after_printing_still_commits_it():
    consumer = MadeUpConsumer({T0: [b"a", b"b"]})
    prints = printer(consumer, InterruptedAfter())
    with pytest.raises(KeyboardInterrupt):
        prints.step()
    prints.commit()
    assert consumer.commits == [{T0: 2}]


def test_ctrl_c_while_committing_waits_for_the_commit():
    consumer = MadeUpConsumer({T0: [b"a"]})
    answered = []

    def commit(offsets):
        os.kill(os.getpid(), signal.SIGINT)
        answered.append(offsets)

    consumer.commit = commit
    prints = printer(consumer)
    prints.step()
    with pytest.raises(KeyboardInterrupt):
        prints.commit()
    assert len(answered) == 1


def test_ctrl_c_while_a_commit_is_refused_ends_it_all_the_same(capsys):
    consumer = MadeUpConsumer({T0: [b"a"]})

    def commit(offsets):
        os.kill(os.getpid(), signal.SIGINT)
        raise CommitFailedError("the group has moved on")

    consumer.commit = commit
    prints = printer(consumer)
    prints.step()
    with pytest.raises(KeyboardInterrupt):
        prints.commit()
    assert "rebalanced" in capsys.readouterr().err
