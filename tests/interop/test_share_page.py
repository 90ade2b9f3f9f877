"""The examples of docs/SHARE.md run as they stand, on a real Kafka."""

import pages
import pytest

import kcore

BEGINNING, IMPLICIT, EXPLICIT, LETTERS = 1, 0, 2, 3


@pytest.fixture
def run(kafka, names):
    blocks = pages.python("docs/SHARE.md")

    def make(number):
        said = []
        code = blocks[number].replace("localhost:9092", kafka.bootstrap)
        code = code.replace('"orders"', repr(names.topic)).replace('"printers"', repr(names.group))
        code = code.replace('"dlq.orders"', repr(f"dlq.{names.topic}"))
        exec(code, {"print": lambda *words: said.append(words)})
        return said

    return make


def test_there_are_four():
    assert len(pages.python("docs/SHARE.md")) == 4


@pytest.mark.slow
def test_the_examples(kafka, names, run):
    kafka.create_topic(names.topic)
    run(BEGINNING)
    run(LETTERS)
    values = [b"%d" % number for number in range(20)]
    kafka.produce(names.topic, [(None, value) for value in [*values, b"\xff"]])
    said = run(EXPLICIT)
    assert said == [(value.decode(),) for value in values]
    with kcore.ShareConsumer(
        names.topic, bootstrap_servers=kafka.bootstrap, group_id=names.group
    ) as consumer:
        assert not any(consumer.poll(300) for _ in range(4))  # the last one was rejected
    with kcore.Consumer(
        f"dlq.{names.topic}", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        (letter,) = consumer.read_until()
    assert letter.value == b"\xff"
    assert dict(letter.headers)["__dlq.errors.message"] == b"Offset rejected by client."
    kafka.produce(names.topic, [(None, b"more")])
    assert run(IMPLICIT) == [(0, 21, 1, b"more")]
