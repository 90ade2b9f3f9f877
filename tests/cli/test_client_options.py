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


# From a file -------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    def write(*rows):
        path = tmp_path / "client.properties"
        path.write_bytes("\n".join(rows).encode())
        return str(path)

    return write


def as_the_file_says(*line, env=None):
    return CliRunner().invoke(kcore, line, env=env)


def test_a_file_has_brokers_and_passwords(guarded, file):
    """Where others, who list processes, do not see them."""
    path = file(
        "\ufeff# of the shop",
        "! and more",
        "",
        f"  bootstrap.servers = {guarded.bootstrap} ",
        *as_alice(),
        "sasl_plain_username=alice",
    )
    for line, env in ((("topics", "-F", path), {}), (("topics",), {"KCORE_CONFIG": path})):
        done = as_the_file_says(*line, env=env)
        assert done.exit_code == 0, done.output
        assert done.stdout.split()[-2:] == ["t", "1"]


def test_what_is_typed_counts_for_more(guarded, kcore_broker, file):
    path = file(f"bootstrap.servers={guarded.bootstrap}", *as_alice("wrong"))
    done = as_the_file_says("topics", "-F", path, "-X", f"sasl_plain_password={SECRET}")
    assert done.exit_code == 0, done.output
    typed = ("-b", kcore_broker.bootstrap, "-X", "security_protocol=PLAINTEXT")
    done = as_the_file_says("topics", "-F", file("bootstrap.servers=127.0.0.1:1"), *typed)
    assert done.exit_code == 0, done.output


def test_a_file_counts_for_more_than_the_environment(guarded, kcore_broker, file):
    """Its password goes where it says."""
    path = file(f"bootstrap.servers={guarded.bootstrap}", *as_alice())
    for verb in ("topics", "configs"):
        line = ("configs", "broker") if verb == "configs" else (verb,)
        done = as_the_file_says(*line, "-F", path, env={"KCORE_BOOTSTRAP": kcore_broker.bootstrap})
        assert done.exit_code == 0, done.output
    without = file(*as_alice())
    done = as_the_file_says("topics", "-F", without, env={"KCORE_BOOTSTRAP": guarded.bootstrap})
    assert done.exit_code == 0, done.output


def test_a_group_of_a_file(kcore_broker, file):
    kcore_broker.create_topic("t")
    kcore_broker.produce("t", [(None, b"one")])
    path = file(f"bootstrap.servers={kcore_broker.bootstrap}", "group.id=filed")
    line = ("consume", "t", "-F", path, "--from", "earliest", "-e")
    assert [as_the_file_says(*line).stdout for _ in range(2)] == ["one\n", ""]
    assert as_the_file_says("lag", "filed", "-F", path, "--max", "0").exit_code == 0


def test_a_file_of_a_java_client(guarded, file):
    path = file(
        f"bootstrap.servers={guarded.bootstrap}",
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\",
        '  username="alice" \\',
        f'  password="{SECRET}";',
        "client.id=shop",
    )
    done = as_the_file_says("topics", "-F", path)
    assert done.exit_code == 0, done.output
    assert done.stdout.split()[-2:] == ["t", "1"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([f"sasl.jaas.config=PlainLoginModule required {SECRET};"], "sasl.jaas.config: "),
        (["ssl.truststore.location=t.jks", f"ssl.truststore.password={SECRET}"], "only PEM is"),
        (["a=b", "", f"sasl_plain_password={SECRET}", f"{SECRET}\\"], "line 5 is not NAME"),
        (["a=b", f"sasl_plain_password {SECRET}"], "line 2 is not NAME=VALUE"),
        ([f"={SECRET}"], "line 1 is not NAME=VALUE"),
        (["bootstrap.servers=h:1", f"pass.word={SECRET}"], "unknown option 'pass_word'"),
        (["security.protocol=SSL"], "--bootstrap"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_without_what_it_says(file, rows, said):
    done = as_the_file_says("topics", "-F", file(*rows))
    assert done.exit_code == 2
    assert said in done.output
    assert SECRET not in done.output


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "bytes").write_bytes(b"a=\xff")
    for path, said in ((tmp_path, "directory"), (tmp_path / "bytes", "cannot be read")):
        done = as_the_file_says("topics", "-b", "h:1", "-F", str(path))
        assert done.exit_code == 2
        assert said in done.output
    assert as_the_file_says("topics", "-b", "h:1", "-F", str(tmp_path / "no")).exit_code == 2
