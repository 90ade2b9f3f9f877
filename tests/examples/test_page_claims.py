"""What the README and docs/ say by name is there: commands, options, defaults, methods, metrics."""

import inspect
import itertools
import re
import shlex
from dataclasses import MISSING, fields

import pages
import pytest
from tidy_rules import TEXT, files

import kcore
from kcore.assignors import CLASSES
from kcore.broker import BrokerConfig, LogConfig
from kcore.broker.crowd import CrowdLimits
from kcore.broker.node_options import with_settings
from kcore.cli.commands import kcore as command_line
from kcore.coordinator import CoordinatorConfig
from kcore.coordinator.transactions import TransactionConfig
from kcore.embedded import EmbeddedBroker
from kcore.errors import KafkaConfigurationError
from kcore.pipeline import options as pipeline_options
from kcore.settings.security import SASL_DEFAULTS

TYPED = sorted({line for name in pages.names() for line in pages.commands(name)})
VERBS = [line for line in TYPED if line.startswith("kcore ")]
MAKE = [line for line in TYPED if line.startswith("make ")]


@pytest.mark.parametrize("line", VERBS)
def test_a_command_line_is_one(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "client.properties").write_text("bootstrap.servers=host:9092\n")
    verb, *arguments = shlex.split(line.partition(" < ")[0])[1:]  # what the shell leaves
    command = command_line.commands[verb]
    with command.make_context(verb, arguments):
        pass


def test_there_are_command_lines():
    assert len(VERBS) > 10
    assert len(MAKE) > 3


def test_make_has_the_verbs_and_variables():
    makefile = (pages.ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    variables = set(re.findall(r"\$\((?:or )?\$?\(?([A-Z]+)\b", makefile))
    said = [word for line in MAKE for word in shlex.split(line)[1:]]
    for row in pages.table("README.md", "`make`"):
        said += pages.in_code(row[0].replace("`, `", "` `"))
    assert {word for word in said if "=" not in word} <= targets
    assert {word.partition("=")[0] for word in said if "=" in word} <= variables


def test_the_options_of_the_source():
    rows = pages.table("docs/spark.md", "option | values")
    told = {option for row in rows for option in pages.in_code(row[0])}
    taken = {"groupIdPrefix", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs"}
    ours = {name for name in told if not name.startswith("kafka.")}
    assert ours == set(pipeline_options._SOURCE_NAMES) - taken
    assert all(f"`{name}`" in pages.text("docs/spark.md") for name in taken)
    for row in rows:
        wanted = {"batch": (False,), "stream": (True,), "both": (False, True)}[row[3]]
        for name in set(pages.in_code(row[0])) & ours:
            only = (pipeline_options._STREAM_ONLY, pipeline_options._BATCH_ONLY)
            assert wanted == tuple(way for way in (False, True) if name not in only[way]), name


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("maxOffsetsPerTrigger", "max_offsets_per_trigger"),
        ("maxTriggerDelay", "max_trigger_delay_ms"),
        ("failOnDataLoss", "fail_on_data_loss"),
        ("kafkaConsumer.pollTimeoutMs", "poll_timeout_ms"),
        ("minRecordsPerPartition", "min_records_per_partition"),
    ],
)
def test_the_defaults_of_the_source(name, field):
    (row,) = [r for r in pages.table("docs/spark.md", "option | values") if f"`{name}`" in r[0]]
    given = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t"}
    found = getattr(pipeline_options.source_options(given, streaming=True), field)
    said = row[2].split(";")[0].split(",")[-1].strip().strip("`")
    if said.endswith("m"):
        said = str(int(said[:-1]) * 60_000)
    assert said == {None: "no limit"}.get(found, str(found).lower())


def test_headers_are_not_read_by_default():
    (row,) = [r for r in pages.table("docs/spark.md", "option | values") if "includeHead" in r[0]]
    given = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t"}
    found = "headers" in pipeline_options.source_options(given, streaming=True).columns.fetched
    assert row[2] == f"`{str(found).lower()}`"


def test_the_options_that_the_source_refuses():
    (line,) = re.findall(
        r"^Refused by name.*?\.$", pages.text("docs/spark.md"), re.MULTILINE | re.DOTALL
    )
    assert {name.removeprefix("kafka.") for name in pages.in_code(line)} == set(
        pipeline_options._FORBIDDEN
    )


def test_the_options_of_kerberos():
    names = set()
    for row in pages.table("docs/SECURITY.md", "option of Kerberos | Java's"):
        names |= set(re.findall(r"`(sasl_\w+)`", row[0]))
        for theirs in re.findall(r"`(sasl\.[\w.]+)`", row[1]):
            assert theirs.replace(".", "_") in names
    assert names == {name for name in SASL_DEFAULTS if "kerberos" in name}


def test_the_options_of_tls():
    rows = pages.table("docs/SECURITY.md", "option | Java's")
    ours = {name for row in rows for name in pages.in_code(row[0])}
    there = {f.name for f in fields(kcore.ConsumerConfig) if f.name.startswith("ssl_")}
    assert ours == there
    java = {name.split(" ")[0] for row in rows for name in pages.in_code(row[1])}
    for name in java:
        with pytest.raises(KafkaConfigurationError) as refused:
            kcore.ConsumerConfig.from_options({"bootstrap_servers": "b:9093", name: 3.5})
        assert "unknown" not in str(refused.value)


def test_the_options_of_coordinators():
    defaults = {f.name: f.default for f in fields(CoordinatorConfig) if f.default is not MISSING}
    page = "docs/EMBEDDED_GROUPS.md"
    headings = "`CoordinatorConfig`", "of share groups"
    for row in [row for heading in headings for row in pages.table(page, heading)]:
        said = row[1].split(";")[0].strip("`")
        for name in pages.in_code(row[0]):
            assert said in (str(defaults[name]).replace("'", '"'), "Kafka's")
    assert BrokerConfig().coordinator.group_consumer_assignment_interval_ms == 0


def test_how_brokers_are_told_what_kafka_is():
    text = pages.text("docs/EMBEDDED.md")
    said = text.split("### Kafka's own options")[1].split("```")[2]
    (typed, *_) = (code for code in pages.in_code(said) if code.startswith("BrokerConfig("))
    named = {"BrokerConfig": BrokerConfig, "LogConfig": LogConfig}
    told = with_settings(BrokerConfig(), {"num.partitions": "4", "log.retention.ms": "60000"})
    assert eval(typed, named) == told
    parts = (CoordinatorConfig, TransactionConfig, CrowdLimits)
    assert all(f"`{part.__name__}`" in said for part in parts)
    assert BrokerConfig().coordinator.group_initial_rebalance_delay_ms == 0
    assert CoordinatorConfig().group_initial_rebalance_delay_ms == 3_000


def test_the_words_of_the_embedded_broker():
    heads = (
        ("EMBEDDED", "call | what it does"),
        ("EMBEDDED", "call | what happens"),
        ("EMBEDDED_SECURITY", "of access | what"),
        ("EMBEDDED_CLUSTER", "of quotas | what"),
        ("EMBEDDED_CLUSTER", "of telemetry | what"),
    )
    tables = [pages.table(f"docs/{page}.md", head) for page, head in heads]
    for row in itertools.chain(*tables):
        for word in pages.in_code(row[0]):
            name, called, arguments = word.partition("(")
            member = inspect.getattr_static(EmbeddedBroker, name)
            if called:
                call = f"lambda: f(self, {arguments.rstrip(')')})"
                signature = inspect.signature(member)
                eval(call, {"f": signature.bind, "self": None})()


def test_the_methods_of_the_boundary():
    for row in pages.table("docs/BOUNDARY.md", "input | when"):
        (call,) = pages.in_code(row[0])
        name, _, said = call.partition("(")
        said = [p.strip() for p in said.partition(")")[0].split(",")]
        parameters = list(inspect.signature(getattr(kcore.ConsumerCore, name)).parameters.values())
        stars = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        found = [p.name for p in parameters[1:] if p not in stars]
        found += ["*"] * bool(stars) + [f"{p.name}={p.default!r}" for p in stars]
        assert [word.replace('"', "'") for word in said] == found, name


def test_how_a_core_is_made():
    (said,) = re.findall(r"^`ConsumerCore\((.*?)\)`", pages.text("docs/BOUNDARY.md"), re.MULTILINE)
    config, rng, now_ms, wall_ms = inspect.signature(kcore.ConsumerCore).parameters.values()
    assert wall_ms.kind is wall_ms.KEYWORD_ONLY
    found = [config.name, rng.name, now_ms.name, "*", f"{wall_ms.name}={wall_ms.default}"]
    assert said.split(", ") == found


def test_the_defaults_of_the_producer():
    defaults = {f.name: f.default for f in fields(kcore.ProducerConfig)}
    rows = pages.table("docs/PRODUCER.md", "option of producers | default")
    assert len(rows) > 10
    for option, said, _ in rows:
        assert said.strip("`") == str(defaults[option.strip("`")]).replace("none", '"none"'), option


def test_the_durations_that_are_told():
    page = pages.text("docs/GROUPS.md")
    told = re.findall(r"`(P[0-9T].*?)`", page)
    assert len(told) == 3
    for value in [
        *re.findall(r'"(by_duration:.*?)"', page),
        *(f"by_duration:{one}" for one in told),
    ]:
        for option in ("auto_offset_reset", "out_of_range_reset"):
            config = kcore.ConsumerConfig.from_options({option: value})
            assert getattr(config, option) == value


def test_the_methods_of_the_consumer_on_a_loop():
    rows = pages.table("docs/ASYNC.md", "kind | methods")
    awaited, plain = (pages.in_code(row[1])[0] for row in rows[:2])
    assert "getmany" in awaited.split()
    assert "subscribe" in plain.split()
    for name in awaited.split():
        assert inspect.iscoroutinefunction(getattr(kcore.AsyncConsumer, name)), name
    for name in plain.split():
        assert not inspect.iscoroutinefunction(getattr(kcore.AsyncConsumer, name)), name


def test_the_names_of_metrics():
    with EmbeddedBroker(in_memory=True) as broker:
        broker.create_topic("t")
        where = {"bootstrap_servers": broker.bootstrap, "auto_offset_reset": "earliest"}
        with (
            kcore.Producer(
                transport=broker.transport(), bootstrap_servers=broker.bootstrap
            ) as producer,
            kcore.Consumer("t", group_id="g", transport=broker.transport(), **where) as consumer,
        ):
            producer.send("t", b"v").get(timeout=10)
            assert consumer.poll(timeout_ms=10_000)
            found = producer.metrics() | consumer.metrics()
    tables = [pages.table("docs/METRICS.md", f"of {kind} |") for kind in ("consumers", "producers")]
    rows = [row for table in tables for row in table]
    assert len(rows) == 9
    for group, names in rows:
        kind = group.strip("`").replace("<topic>", "t").replace("<partition>", "0")
        (said,) = [
            numbers
            for name, numbers in found.items()
            if name == kind or name.startswith(kind.removesuffix("<id>") + "1")
        ]
        told = set()
        words = pages.in_code(names)
        for word in words:
            told |= {f"{word}{end}" for end in ("rate", "total")} if word.endswith("-") else {word}
        assert told - {"rate", "total"} == set(said), group


def test_the_assignors():
    rows = pages.table("docs/GROUPS.md", "name | who")
    assert [name for row in rows for name in pages.in_code(row[0])] == list(CLASSES)


INSTALLED = re.compile(r"^kcore/(transports|clients|embedded|pipeline|cli)/")
NAMED = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:pyx?|md|sh|txt|toml)|(?:[\w.-]+/)+)`")
LINKED = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
MADE = ("node-", "coordinators/")  # by a broker, in its directory
THEIRS = {"launch_container.sh"}  # written by YARN's nodes


@pytest.mark.parametrize("page", pages.names())
def test_the_files_that_are_named_are_there(page):
    """Those with a folder from the root of the tree, those without one anywhere in it."""
    prose = re.sub(r"^```.*?^```", "", pages.text(page), flags=re.DOTALL | re.MULTILINE)
    beside = (pages.ROOT / page).parent
    missing = [path for path in LINKED.findall(prose) if not (beside / path).exists()]
    anywhere = {path.name for path in files(pages.ROOT, TEXT)}
    for path in NAMED.findall(prose):
        if "/" not in path:
            there = path in anywhere or path in THEIRS
        else:
            there = (pages.ROOT / INSTALLED.sub(r"\1/", path)).exists() or path.startswith(MADE)
        if not there:
            missing.append(path)
    assert not missing


def test_the_events_of_groups():
    named = set(
        re.findall(r"`([A-Z]\w+)(?:\.(\w+))?` (?:names|events)", pages.text("docs/GROUPS.md"))
    )
    assert named == {("OffsetsCommitted", "dropped"), ("GroupJoined", "")}
    seen = []
    with EmbeddedBroker(in_memory=True) as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"v")])
        options = {"group_id": "g", "auto_offset_reset": "earliest"}
        with kcore.Consumer(
            "t", transport=broker.transport(), bootstrap_servers=broker.bootstrap, **options
        ) as consumer:
            consumer.observe(seen.append)
            while not consumer.poll(timeout_ms=100):
                pass
    by_name = {type(event).__name__: event for event in seen}
    for name, field in named:
        assert hasattr(by_name[name], field or "protocol")
