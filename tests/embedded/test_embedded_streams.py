"""A real Kafka Streams application (tests/java/CountWords.java) on the embedded broker and on a
real Kafka: instances come, are killed and go, and each word is counted as often as it was written.
"""

import subprocess
import threading
import time
from collections import Counter
from dataclasses import replace

import java_programs
import pytest

from kcore import Admin, Consumer, Producer, TopicPartition
from kcore.admin import ConfigResource, ConfigResourceType, NewTopic
from kcore.broker import BrokerConfig
from kcore.cli.demo.java import TOOLS
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker
from kcore.wire.apis import ApiKey

PATIENCE_S = 120
WORDS = ("red", "green", "blue", "black", "white", "grey", "pink")
QUICK = CoordinatorConfig(
    group_streams_min_session_timeout_ms=1_000, group_streams_min_heartbeat_interval_ms=100
)

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture(params=[(4, 3), (4, 4), "kafka"], ids=["ours-4.3", "ours-4.4", "kafka"])
def bootstrap(request):
    """Of one and of the other."""
    if request.param == "kafka":
        yield request.getfixturevalue("kafka").bootstrap
        return
    with EmbeddedBroker(config=BrokerConfig(release=request.param, coordinator=QUICK)) as broker:
        yield broker.bootstrap
        assert not broker.faults


class Application:
    """Instances of the application, and what it has counted."""

    def __init__(self, installation, bootstrap, name, folder):
        self.name, self.bootstrap = name, bootstrap
        self._installation, self.folder = installation, folder
        self.lines, self.counts = f"{name}-lines", f"{name}-counts"
        self._instances = []
        self.said = []
        self._written = Counter()
        self.admin = Admin(bootstrap_servers=bootstrap)
        self.admin.create_topics([NewTopic(self.lines, 4, 1), NewTopic(self.counts, 2, 1)])
        self._producer = Producer(bootstrap_servers=bootstrap)
        self.configure("heartbeat.interval.ms", 300)
        self.configure("session.timeout.ms", 3_000)
        self.configure("initial.rebalance.delay.ms", 500)

    def configure(self, option, value):
        configs = {f"streams.{option}": str(value)}
        resource = ConfigResource(ConfigResourceType.GROUP, self.name, configs)
        self.admin.alter_configs([resource], raise_errors=True)

    def start(self, *options):
        number = len(self._instances)
        state = str(self.folder / f"state-{number}")
        given = (self.bootstrap, self.name, state, self.lines, self.counts, *options)
        command = java_programs.command(self._installation, "CountWords", *given)
        with (self.folder / f"{number}.log").open("w") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        said = []
        threading.Thread(
            target=lambda: said.extend(map(str.strip, process.stdout)), daemon=True
        ).start()
        self._instances.append(process)
        self.said.append(said)
        return process

    def write(self, count):
        for number in range(count):
            line = [WORDS[(number + step * step) % len(WORDS)] for step in range(4)]
            self._written.update(line)
            self._producer.send(self.lines, " ".join(line).encode(), key=b"%d" % number)
        self._producer.flush()

    def is_counted(self):
        """Whether the last number of each word is how often it was written."""
        found = {}
        with Consumer(
            bootstrap_servers=self.bootstrap, auto_offset_reset="earliest", group_id=None,
            isolation_level="read_committed",
        ) as consumer:  # fmt: skip
            consumer.assign([TopicPartition(self.counts, number) for number in (0, 1)])
            for record in consumer.read_until():
                found[record.key.decode()] = int(record.value)
        self.last = found
        return found == self._written

    def shares(self):
        """How many active tasks each member has."""
        return sorted(
            sum(map(len, member["member_assignment"]["active_tasks"].values()))
            for member in self.described()["members"]
        )

    def described(self):
        return self.admin.describe_groups([self.name])[self.name]

    def until(self, met):
        end = time.monotonic() + PATIENCE_S
        while not met():
            assert time.monotonic() < end, (self.said, getattr(self, "last", None), self._written)
            time.sleep(0.3)

    def close(self):
        for process in self._instances:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        self._producer.close()
        self.admin.close()


@pytest.fixture
def application(installation, bootstrap, tmp_path, names):
    found = Application(installation, bootstrap, names.group.replace("_", "-"), tmp_path)
    yield found
    found.close()


def test_an_instance_is_killed_and_nothing_is_counted_twice(application):
    options = ("processing.guarantee=exactly_once_v2", "producer.transaction.timeout.ms=4000")
    one = application.start(*options)
    application.write(300)
    application.until(application.is_counted)
    application.start(*options)
    application.until(lambda: application.shares() == [4, 4])
    application.write(300)
    one.kill()
    application.write(300)
    application.until(application.is_counted)
    application.until(lambda: application.shares() == [8])


def test_standbys_take_over(application):
    application.configure("num.standby.replicas", 1)
    one, _ = application.start(), application.start()
    application.write(100)
    application.until(application.is_counted)
    application.until(lambda: application.shares() == [4, 4])
    one.stdin.close()
    assert one.wait(PATIENCE_S) == 0
    application.until(lambda: application.shares() == [8])
    application.write(100)
    application.until(application.is_counted)


@pytest.fixture
def described(installation, tmp_path, names):
    """On a broker that keeps descriptions of topologies."""
    coordinator = replace(QUICK, group_streams_topology_description_plugin_class="InMemory")
    with EmbeddedBroker(config=BrokerConfig(release=(4, 4), coordinator=coordinator)) as broker:
        made = Application(installation, broker.bootstrap, names.group.replace("_", "-"), tmp_path)
        yield made
        made.close()
        assert not broker.faults


def test_what_an_application_is_made_of(described, installation):
    described.start()

    def told():
        asked = {"include_topology_description": True}
        return described.admin.describe_groups([described.name], **asked)[described.name]

    described.until(lambda: told().get("topology_description_status") == "AVAILABLE")
    first, second = told()["topology_description"]["subtopologies"]
    sources = [one for one in first["nodes"] if one["node_type"] == "SOURCE"]
    assert [one["source_topics"] for one in sources] == [[described.lines]]
    stores = [one.get("stores") for one in second["nodes"] if one["node_type"] == "PROCESSOR"]
    assert ["counts"] in stores
    assert described.counts in [one.get("sink_topic") for one in second["nodes"]]
    main = TOOLS["kafka-streams-groups"]
    options = ("--describe", "--topology", "--group", described.name)
    command = installation.command(main, "--bootstrap-server", described.bootstrap, *options)
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"(topics: [{described.lines}])" in done.stdout, done.stdout


def test_an_instance_that_comes_back_in_time_is_the_same(application):
    """With a group.instance.id: nobody else gets its tasks meanwhile (Kafka 4.4)."""
    if application.admin.api_versions()[ApiKey.STREAMS_GROUP_HEARTBEAT] == (0, 0):
        pytest.skip("streams groups have no instances before Kafka 4.4")
    application.configure("session.timeout.ms", 45_000)
    folder = application.folder / "state-of-one"  # with the id of its process
    here = ("group.instance.id=one", f"state.dir={folder}")
    one = application.start(*here)
    application.start("group.instance.id=two")
    application.write(100)
    application.until(application.is_counted)
    application.until(lambda: application.shares() == [4, 4])
    before = application.described()
    one.stdin.close()
    assert one.wait(PATIENCE_S) == 0
    application.start(*here)
    application.write(100)
    application.until(application.is_counted)
    after = application.described()
    assert application.shares() == [4, 4]
    assert (after["group_epoch"], len(after["members"])) == (before["group_epoch"], 2)


def test_an_application_comes_from_the_classic_protocol(application):
    """Once its last member is gone; what it has committed and counted it goes on with."""
    process = application.start("group.protocol=classic", "session.timeout.ms=6000")
    application.write(100)
    application.until(application.is_counted)
    process.stdin.close()
    assert process.wait(PATIENCE_S) == 0
    name = application.name
    application.until(lambda: application.described()["group_state"] == "Empty")
    assert application.described()["group_type"] == "classic"
    process = application.start()
    application.write(100)
    application.until(application.is_counted)
    assert application.described()["group_type"] == "streams"
    committed = application.admin.list_group_offsets([name])[name].items()
    read = sum(at[0] for tp, at in committed if tp.topic == application.lines)
    assert read == 200


def test_the_tool_of_kafka(application, installation):
    def tool(*args):
        where = ("--bootstrap-server", application.bootstrap)
        main = TOOLS["kafka-streams-groups"]
        command = installation.command(main, *where, *args)
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 0, done.stdout + done.stderr
        return [line.split() for line in done.stdout.splitlines() if line.strip()]

    name = application.name
    group = ("--group", name)
    process = application.start("client.id=c")
    application.write(50)
    application.until(application.is_counted)
    application.until(lambda: application.shares() == [8])
    assert [name] in tool("--list")
    assert [name, "Stable"] in tool("--list", "--state")
    (state,) = [row for row in tool("--describe", "--state", *group) if row[0] == name]
    assert "Stable" in state
    members = tool("--describe", "--members", "--verbose", *group)
    assert len([row for row in members if row[0] == name]) == 1
    offsets = [row for row in tool("--describe", "--verbose", *group) if row[0] == name]
    assert len(offsets) == 8
    assert sum(int(row[3]) for row in offsets if row[1] == application.lines) == 50
    process.stdin.close()
    assert process.wait(PATIENCE_S) == 0
    reset = tool(
        "--reset-offsets", "--to-earliest", "--execute", "--input-topic", application.lines, *group
    )
    assert len([row for row in reset if application.lines in row]) == 4
    committed = application.admin.list_group_offsets([name])[name]
    assert {at[0] for tp, at in committed.items() if tp.topic == application.lines} == {0}
    assert "successful." in tool("--delete", *group)[-1]
    assert [name] not in tool("--list")
