"""`kcore consume --share`: what was printed is accepted, and what was not is others'."""

import io

import pytest
from click.testing import CliRunner

from kcore import Admin, ShareConsumer, TopicPartition
from kcore.admin import ConfigResource
from kcore.cli.commands import kcore
from kcore.cli.consume import ConsumeOptions
from kcore.cli.consume_share import SharePrinter, open_share_consumer
from kcore.errors import ShareSessionNotFoundError

T0 = TopicPartition("t", 0)


@pytest.fixture
def broker(kcore_broker):
    kcore_broker.create_topic("t", 1)
    kcore_broker.produce("t", [(b"k", b"v%d" % number) for number in range(10)])
    with Admin(bootstrap_servers=kcore_broker.bootstrap) as admin:
        earliest = {"share.auto.offset.reset": "earliest"}
        admin.alter_configs([ConfigResource("group", "g", earliest)])
    return kcore_broker


def run(broker, *line):
    return CliRunner().invoke(kcore, ["consume", "t", "-b", broker.bootstrap, "--share", *line])


def test_one_goes_on_behind_what_the_other_printed(broker):
    first = run(broker, "-g", "g", "--max", "4")
    assert (first.exit_code, first.stdout.split()) == (0, ["v0", "v1", "v2", "v3"])
    # The six that it had acquired, too, wait for nobody's lock.
    second = run(broker, "-g", "g", "--max", "6", "--format", r"%o=%s\n")
    assert second.stdout.split() == [f"{number}=v{number}" for number in range(4, 10)]
    with ShareConsumer("t", bootstrap_servers=broker.bootstrap, group_id="g") as consumer:
        while not consumer.assignment():
            consumer.poll(100)
        assert consumer.poll(300) == {}


def print_all(printer):
    while True:
        printer.step()


def test_what_could_not_be_written_is_not_accepted(broker):
    class Full(io.BytesIO):
        def write(self, data):
            if data == b"v3\n":
                raise OSError("no room")
            return super().write(data)

    options = ConsumeOptions(("t",), broker.bootstrap, group="g")
    with open_share_consumer(options) as consumer:
        out = Full()
        printer = SharePrinter(consumer, 0, lambda record: record.value + b"\n", out)
        with pytest.raises(OSError, match="no room"):
            print_all(printer)
        printer.commit()
    assert run(broker, "-g", "g", "--max", "10").stdout.split() == [f"v{n}" for n in range(10)]


def test_what_a_broker_did_not_take_in_is_said(capsys):
    class Refused:
        def commit(self):
            return {T0: ShareSessionNotFoundError("gone")}

    SharePrinter(Refused(), 0, bytes, io.BytesIO()).commit()
    said = capsys.readouterr().err
    assert said == (
        "kcore: what was printed of t-0 is not accepted: [122 SHARE_SESSION_NOT_FOUND] gone\n"
    )
