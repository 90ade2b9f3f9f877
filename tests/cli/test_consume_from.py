"""`kcore consume --from`: where printing begins."""

import pytest
from click.testing import CliRunner

from kcore.cli.commands import kcore
from kcore.embedded import EmbeddedBroker


@pytest.fixture
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 2)
        broker.produce("t", [(None, b"%d" % number) for number in range(20)])
        yield broker
        assert not broker.faults


def printed(broker, start):
    line = ["consume", "t", "-b", broker.bootstrap, "--from", start, "-e", "-f", "%p/%o "]
    done = CliRunner().invoke(kcore, line)
    assert done.exit_code == 0, done.output
    return sorted(done.stdout.split())


@pytest.mark.parametrize(
    ("start", "offsets"), [("8", (8, 9)), ("-3", (7, 8, 9)), ("-99", range(10)), ("-0", ())]
)
def test_an_offset_or_the_last_of_each_partition(broker, start, offsets):
    assert printed(broker, start) == [f"{p}/{offset}" for p in (0, 1) for offset in offsets]


def test_of_what_is_left(broker):
    import kcore as library  # noqa: PLC0415 - the command has its name here

    with library.Admin(bootstrap_servers=broker.bootstrap) as admin:
        admin.delete_records({library.TopicPartition("t", 1): 8})
    assert printed(broker, "-3") == ["0/7", "0/8", "0/9", "1/8", "1/9"]


def test_a_group_has_a_place_of_its_own():
    done = CliRunner().invoke(kcore, ["consume", "t", "-b", "h:1", "-g", "g", "--from", "-3"])
    assert done.exit_code == 2
    assert "--from OFFSET is without it" in done.output
