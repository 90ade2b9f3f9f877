"""The examples of docs/SHARE.md run as they stand, on a real Kafka."""

import pages
import pytest

import kcore

BEGINNING, IMPLICIT, EXPLICIT = 1, 0, 2


@pytest.fixture
def run(kafka, names):
    blocks = pages.python("docs/SHARE.md")

    def make(number):
        said = []
        code = blocks[number].replace("localhost:9092", kafka.bootstrap)
        code = code.replace('"orders"', repr(names.topic)).replace('"printers"', repr(names.group))
        exec(code, {"print": lambda *words: said.append(words)})
        return said

    return make


def test_there_are_three():
    assert len(pages.python("docs/SHARE.md")) == 3


@pytest.mark.slow
def test_the_examples(kafka, names, run):
    kafka.create_topic(names.topic)
    run(BEGINNING)
    values = [b"%d" % number for number in range(20)]
    kafka.produce(names.topic, [(None, value) for value in [*values, b"\xff"]])
    said = run(EXPLICIT)
    assert said == [(value.decode(),) for value in values]
    with kcore.ShareConsumer(
        names.topic, bootstrap_servers=kafka.bootstrap, group_id=names.group
    ) as consumer:
        assert not any(consumer.poll(300) for _ in range(4))  # the last one was rejected
    kafka.produce(names.topic, [(None, b"more")])
    assert run(IMPLICIT) == [(0, 21, 1, b"more")]
