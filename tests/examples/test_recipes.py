"""The programs of docs/RECIPES.md run as they stand, on an embedded broker."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pages
import pytest
from told import EnoughError, Told

import kcore
from kcore.embedded import EmbeddedBroker

PAGE = "docs/RECIPES.md"
FLIGHTS = kcore.TopicPartition("flights", 0)
RECORDS = [(b"key %d" % (number % 3), b"value-%d" % number) for number in range(30)]
VALUES = [value for _, value in RECORDS]


@pytest.fixture
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic("flights")
        broker.create_topic("orders", 4)
        broker.produce("flights", RECORDS)
        yield broker
        assert not broker.faults


def run(code, broker, **names):
    names = {"__name__": "recipe", **names}
    exec(code.replace("localhost:9092", broker.bootstrap), names)
    return names


def begin(code, broker):
    """As a program, which calls handle(record)."""
    code = "def handle(record):\n    print(record.value, flush=True)\n" + code
    return subprocess.Popen(
        [sys.executable, "-c", code.replace("localhost:9092", broker.bootstrap)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def read(broker, topic):
    where = {"bootstrap_servers": broker.bootstrap, "auto_offset_reset": "earliest"}
    with kcore.Consumer(topic, **where) as consumer:
        return list(consumer.read_until())


def committed(broker, group, tp=FLIGHTS):
    with kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
        found = admin.list_group_offsets(group)[group].get(tp)
    return None if found is None else found.offset


def commit(broker, group, offset):
    with kcore.Consumer(bootstrap_servers=broker.bootstrap, group_id=group) as consumer:
        consumer.commit({FLIGHTS: kcore.OffsetAndMetadata(offset, "", -1)})


# By the headings of the page ----------------------------------------------------------------------


def of_json(code, broker):
    told = Told(enough=1)
    with pytest.raises(EnoughError):
        run(code, broker, print=told)
    assert told.calls == [(b"ada", 1)]
    assert [record.value for record in read(broker, "orders")] == [b'{"number": 1}']


def all_of_a_topic_then_stop(code, broker):
    told = Told()
    run(code, broker, print=told)
    assert told.calls == [(0, offset, *record) for offset, record in enumerate(RECORDS)]


def the_last_value_of_each_key(code, broker):
    broker.produce("flights", [(b"key 1", None)])
    told = Told()
    run(code, broker, print=told)
    assert told.calls == [({b"key 0": b"value-27", b"key 2": b"value-29"},)]


def the_last_ten(code, broker):
    told = Told()
    began = time.monotonic()
    run(code, broker, print=told)
    took_s = time.monotonic() - began
    assert told.calls == [(0, offset, VALUES[offset]) for offset in range(20, 30)]
    assert took_s < 10


def since_a_time(code, broker):
    told = Told()
    run(code, broker, print=told)
    assert [value for _, value in told.calls] == VALUES
    told = Told()
    run(code.replace("2026, 1, 1", "2999, 1, 1"), broker, print=told)
    assert told.calls == []


def two_topics_in_order_of_time(code, broker):
    with kcore.Producer(bootstrap_servers=broker.bootstrap) as producer:
        for time_ms in (1, (time.time_ns() // 1_000_000) + 60_000):
            producer.send("orders", b"order", partition=0, timestamp_ms=time_ms)
    told = Told()
    run(code, broker, print=told)
    assert [topic for _, topic, _ in told.calls] == ["orders", *["flights"] * 30, "orders"]


def commit_what_is_handled(code, broker):
    handle = Told(enough=10)
    with pytest.raises(EnoughError):
        run(code, broker, handle=handle)
    assert handle.values == VALUES[:10]
    assert committed(broker, "billing") == 9


def records_that_cannot_be_handled(code, broker):
    tried = []

    def handle(record):
        tried.append(record.value)
        if record.value == VALUES[1]:
            raise ValueError("no")
        if record.value == VALUES[3]:
            raise EnoughError

    with pytest.raises(EnoughError):
        run(code, broker, handle=handle)
    assert tried == [VALUES[0], VALUES[1], VALUES[1], VALUES[1], VALUES[2], VALUES[3]]
    (dead,) = read(broker, "flights.dead")
    assert (dead.key, dead.value) == RECORDS[1]
    assert dead.headers == [("error", b"ValueError: no"), ("from", b"flights-0@1")]
    assert committed(broker, "careful") == 3


def put_aside_by_brokers(code, broker):
    tried, told = [], Told()

    def handle(record):
        tried.append(record.value)
        if record.value == VALUES[1]:
            raise ValueError("no")
        if record.value == VALUES[2]:
            if tried.count(VALUES[2]) == 5:
                broker.produce("flights", [(None, b"end")])
            raise OSError("not now")
        if record.value == b"end":
            raise EnoughError

    with pytest.raises(EnoughError):
        run(code, broker, handle=handle, print=told)
    assert told.calls == [({"group": {"workers": "OK"}},)]
    assert tried[:30] == VALUES
    assert tried[30:] == [*[VALUES[2]] * 4, b"end"]
    letters = read(broker, "dlq.flights")
    assert [(one.key, one.value) for one in letters] == [RECORDS[1], RECORDS[2]]


def put_back(code, broker):
    put_aside_by_brokers(pages.python(PAGE)[RUN.index(put_aside_by_brokers)], broker)
    told = Told()
    run(code, broker, print=told)
    rejected, exhausted = "by client.", "exceeded the threshold."
    assert [(*place, why.endswith((rejected, exhausted))) for *place, why in told.calls] == [
        ("flights", "0", "1", True), ("flights", "0", "2", True),
    ]  # fmt: skip
    assert [record.value for record in read(broker, "flights")] == [*VALUES, b"end", *VALUES[1:3]]
    assert committed(broker, "menders", kcore.TopicPartition("dlq.flights", 0)) == 2


def stop_when_told_to(code, broker):
    program = begin(code, broker)
    try:
        seen = [program.stdout.readline() for _ in RECORDS]
        program.terminate()
        rest, _ = program.communicate(timeout=60)
    finally:
        program.kill()
    assert seen[-1] == f"{VALUES[-1]}\n"
    assert (rest, program.returncode) == ("stopped\n", 0)
    assert committed(broker, "g") == len(RECORDS)
    with kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
        assert admin.describe_groups(["g"])["g"]["group_state"] == "Empty"


def read_again(code, broker):
    commit(broker, "billing", 10)
    run(code, broker)
    assert committed(broker, "billing") == 0


def read_again_by_a_listener(code, broker):
    commit(broker, "g", 10)
    told = Told()
    run(code, broker, print=told)
    assert [value for _, value in told.calls] == VALUES


def lag_counts_topics(code, broker):
    commit(broker, "billing", 10)
    told = Told()
    run(code, broker, print=told)
    assert told.calls == [(True,), (20,), (30,)]


def a_data_frame(code, broker, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run(code, broker)
    assert names["table"]["value"].to_pylist() == VALUES
    assert names["pyarrow"].parquet.read_table("flights.parquet") == names["table"]


def was_it_delivered(code, broker):
    told = Told()
    run(code, broker, print=told)
    assert told.calls == [(len(RECORDS) + 999,)]


def in_a_web_app(code, broker):
    seen = []

    async def handle(record):
        seen.append(record.value)

    names = run(code, broker, handle=handle)

    async def main():
        app = SimpleNamespace(state=SimpleNamespace())
        async with names["lifespan"](app):
            await names["order"](app)
            while len(seen) < len(RECORDS):
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(main(), 60))
    assert seen == VALUES
    assert [record.value for record in read(broker, "orders")] == [b"three apples"]


def a_producer_a_process(code, broker):
    names = run(code, broker)
    names["order"](b"four apples")
    sold = {record.value for record in read(broker, "orders")}
    assert sold == {b"three apples", b"four apples"}
    assert names["producer_of"].cache_info().misses == 1
    names["producer_of"](os.getpid()).close()


def a_consumer_a_process(code, broker, tmp_path):
    # In a file, as workers that are spawned look for it.
    broker.produce("orders", [(None, b"%d" % number) for number in range(40)])
    program = tmp_path / "program.py"
    told = "def handle(record):\n    print(record.partition, flush=True)\n\n\n"
    code = code.replace("localhost:9092", broker.bootstrap).replace("range(4)", "range(2)")
    program.write_text(told + code)
    running = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        seen = [running.stdout.readline() for _ in range(40)]
        until = time.monotonic() + 60
        with kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
            while len(admin.describe_groups(["g"])["g"]["members"]) < 2:
                assert time.monotonic() < until
                time.sleep(0.1)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
    assert len(seen) == 40


def a_schema_registry(code, broker):
    pytest.importorskip("confluent_kafka.schema_registry.avro")
    from schema_registry import SchemaRegistry  # noqa: PLC0415 - what the other needs

    with SchemaRegistry() as registry:  # whose client leaves its sockets to the end of a program
        program = begin(code.replace("http://localhost:8081", registry.url), broker)
        told, _ = program.communicate(timeout=60)
    assert told == "{'number': 1}\n"


def in_tests(code, broker):
    run(code, broker)


RUN = [
    of_json,
    all_of_a_topic_then_stop,
    the_last_value_of_each_key,
    the_last_ten,
    since_a_time,
    two_topics_in_order_of_time,
    commit_what_is_handled,
    records_that_cannot_be_handled,
    put_aside_by_brokers,
    put_back,
    stop_when_told_to,
    read_again,
    read_again_by_a_listener,
    lag_counts_topics,
    a_data_frame,
    was_it_delivered,
    in_a_web_app,
    a_producer_a_process,
    a_consumer_a_process,
    a_schema_registry,
    in_tests,
]


@pytest.mark.parametrize("number", range(len(RUN)), ids=[recipe.__name__ for recipe in RUN])
def test_a_recipe_works(number, broker, tmp_path, monkeypatch):
    given = {"tmp_path": tmp_path, "monkeypatch": monkeypatch}
    wanted = RUN[number].__code__.co_varnames[2 : RUN[number].__code__.co_argcount]
    RUN[number](pages.python(PAGE)[number], broker, **{name: given[name] for name in wanted})


def test_every_recipe_is_run():
    assert len(pages.python(PAGE)) == len(RUN)


def test_what_the_page_leads_to_is_there():
    text = pages.text(PAGE)
    for page, anchor in re.findall(r"\]\(([A-Za-z_]+\.md)?(?:#([a-z-]+))?\)", text):
        target = pages.text(f"docs/{page}") if page else text
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target, re.MULTILINE)
            assert anchor in {_anchor(heading) for heading in headings}, (page, anchor)


def _anchor(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_errors_that_the_page_names_are_there():
    named = set(re.findall(r"`([A-Z][A-Za-z]+Error)`", pages.text(PAGE)))
    builtin = {name for name in named if hasattr(__builtins__, name) or name == "TypeError"}
    assert named - builtin <= set(dir(kcore.errors)), json.dumps(sorted(named))
