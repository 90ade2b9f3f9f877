"""What `-X` gives the client of a verb."""

import pytest
from click.testing import CliRunner

from kcore.cli.commands import kcore
from kcore.embedded import EmbeddedBroker

SECRET = "20260131"


@pytest.fixture
def guarded():
    users = {"alice": SECRET}
    with EmbeddedBroker(security_protocol="SASL_PLAINTEXT", sasl_users=users) as broker:
        broker.create_topic("t")
        yield broker


def run(broker, *line, given=()):
    options = [part for one in given for part in ("-X", one)]
    return CliRunner().invoke(kcore, [*line, "-b", broker.bootstrap, *options])


def as_alice(password=SECRET):
    return (
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        "sasl_plain_username=alice",
        f"sasl_plain_password={password}",
    )


def test_a_password_may_be_all_digits(guarded):
    done = run(guarded, "topics", given=as_alice())
    assert done.exit_code == 0, done.output
    assert [row.split() for row in done.stdout.splitlines()][1:] == [["t", "1"]]


@pytest.mark.parametrize("word", ["none", "true", "20260132"])
def test_a_wrong_password_is_for_the_broker_to_refuse(guarded, word):
    done = run(guarded, "topics", given=as_alice(word))
    assert done.exit_code == 1
    assert "SASL_AUTHENTICATION_FAILED" in done.stderr
    assert word not in done.output


def test_none_is_the_name_of_a_policy(kcore_broker):
    """It was taken for nothing given, and the default for it."""
    kcore_broker.create_topic("t")
    kcore_broker.produce("t", [(None, b"one")])
    line = ("consume", "t", "-g", "new", "-e")
    done = run(kcore_broker, *line, given=("auto_offset_reset=none",))
    assert done.exit_code == 1
    assert "NoOffsetForPartitionError" in done.stderr


@pytest.mark.parametrize("name", ["auto.offset.reset", "auto_offset_reset"])
def test_javas_names_stand_for_what_verbs_give(kcore_broker, name):
    """They were refused as the same option given twice."""
    kcore_broker.create_topic("t")
    kcore_broker.produce("t", [(None, b"one")])
    done = run(kcore_broker, "consume", "t", "-g", "g", "-e", given=(f"{name}=earliest",))
    assert (done.exit_code, done.stdout) == (0, "one\n")


@pytest.mark.parametrize(
    ("given", "said"),
    [("bootstrap.servers=h:2", "is given by -b"), ("group.id=g", "is given by -g")],
)
def test_javas_names_of_what_has_an_option_here(kcore_broker, given, said):
    done = run(kcore_broker, "consume", "t", given=(given,))
    assert done.exit_code == 2
    assert said in done.output
