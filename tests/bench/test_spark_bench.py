"""The bench of the data source in Spark: what is made of its results; and all of it, tiny."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(autouse=True)
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))


def run(wall_s, **more):
    return {"records": 1_000_000, "wall_s": wall_s, "cpu_s": wall_s, "jvm_cpu_s": wall_s / 2,
            "python_cpu_s": wall_s / 2, "steady_s": wall_s} | more  # fmt: skip


def runs(kafka_s, kcore_s, ceiling_s):
    took = {"kafka": kafka_s, "kcore": kcore_s, "ceiling": ceiling_s}
    return {kind: [run(one)] * 2 for kind, one in took.items()}


def samples(last_mb):
    names = ("driver_python_mb", "source_mb", "workers_mb", "jvm_rss_mb", "workers")
    return [
        {"batch": number, **dict.fromkeys(names, 100.0)} | {"jvm_heap_mb": heap}
        for number, heap in ((50, 10.0), (100, 60.0), (500, 61.0), (1_000, last_mb))
    ]


@pytest.fixture
def result():
    shape = {"records": 1_000_000, "value_bytes": 100, "partitions": 4, "codec": "none"}
    step = {"wall_s": 0.25, "cpu_s": 0.2}
    names = ("import", "batch: partitions", "batch: pickles")
    phases = {"triggerExecution": [80, 90], "addBatch": [30, 40]}
    queries = {
        kind: [{"latency_s": [ms / 1e3] * 4, "phases_ms": phases, "idle_core": 0.1}]
        for kind, ms in (("kafka", 100), ("kcore", 301))
    }
    words = ("command", "commit", "machine", "load", "python", "versions", "date")
    return {
        "section": "spark",
        "about": dict.fromkeys(words, "x"),
        "batch": [
            {"action": action, "shape": shape, "runs": runs(6.0, 2.0, 1.5)}
            for action in ("noop", "sum", "texts")
        ],
        "stream": [
            {"action": action, "limit": 10, "shape": shape, "runs": runs(5.0, 2.0, 1.0)}
            for action in ("noop", "texts")
        ],
        "write": [
            {"case": "alike", "value_bytes": 100, "rows": 9_000, "runs": runs(4.0, 2.0, 1.0)}
        ],
        "plan": {
            "partitions": 10_000,
            "alone": [{"partitions": 10_000, "steps": dict.fromkeys(names, step)}],
            "runs": runs(1.0, 1.0, 1.0),
        },
        "memory": {"runs": {"kafka": {"samples": samples(60.0)},
                            "kcore": {"samples": samples(80.0)}}},
        "latency": {"runs": queries},
    }  # fmt: skip


def test_goals_that_are_met_and_missed(result):
    found = {what: (is_, met) for what, _, is_, met
             in importlib.import_module("spark_tables").goals(result)}  # fmt: skip
    assert found["batch, 100 B, noop"] == ("3.0x (without cost: 4.0x)", True)
    whole = found["stream, 100 B, 10 a micro-batch, from start to end"]
    assert whole == ("2.5x (without cost: 5.0x)", False)
    assert found["stream, 100 B, values as strings, 10 a micro-batch, from start to end"] == whole
    assert found["write, 100 B, alike, 9,000 rows"] == ("2.0x (without cost: 4.0x)", True)
    assert found["planning 10,000 partitions"] == ("0.50 s", True)
    heap = found["memory from micro-batch 100 to 1000, JVM heap"]
    assert heap == ("+20.0 MiB", False)  # of 60: a tenth and 5 MiB would have been flat
    assert found["memory from micro-batch 100 to 1000, driver's Python"] == ("+0.0 MiB", True)
    assert found["a micro-batch's latency"] == ("301 ms, +201", False)


def test_the_document_is_filled(result, tmp_path):
    report, tables = (importlib.import_module(name) for name in ("report", "spark_tables"))
    names = [match[2] for match in report.BLOCK.finditer(report.SPARK_DOCUMENT.read_text())]
    assert sorted(names) == sorted(tables.PARTS)
    document = tmp_path / "doc.md"
    document.write_text("".join(f"<!-- bench: {name} -->\nold\n<!-- end -->\n" for name in names))
    report.write_spark(result, tmp_path, document)
    text = document.read_text()
    assert "old" not in text
    assert (
        "| 100 B, all rows, to `noop` | kcore | 0.50 | 3.0x | 2.00 | 1.00 + 1.00 | 3.0x |" in text
    )
    assert "| kcore | 301 | 301 | 85 | 35 | 0.10 |" in text
    drawn = {path.name for path in tmp_path.glob("*.svg")}
    assert drawn == {f"{name}.svg" for name in importlib.import_module("spark_plots").PLOTS}
    for name in drawn:
        ElementTree.fromstring((tmp_path / name).read_bytes())


def test_what_was_not_measured_stays_as_it_was(result, tmp_path):
    report = importlib.import_module("report")
    document = tmp_path / "doc.md"
    document.write_text("<!-- bench: spark_write -->\nkept\n<!-- end -->\n")
    for part in ("write", "memory", "latency"):
        del result[part]
    report.write_spark(result, tmp_path, document)
    assert "kept" in document.read_text()
    assert not [*tmp_path.glob("*.svg")]


@pytest.mark.parametrize("texts", [False, True])
def test_the_ceiling_gives_as_many_rows_as_asked_for(texts):
    given = {"topic": "t", "rows": "1001", "partitions": "4", "value_bytes": "9"}
    given["batch_rows"] = "100"
    reader = importlib.import_module("spark_ceiling").CeilingReader(given, texts=texts)
    read = [sum(one.num_rows for one in reader.read(part)) for part in reader.partitions()]
    assert read == [250, 250, 250, 251]


def test_an_unknown_part_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["spark.py", "--only", "batch,wirte"])
    with pytest.raises(SystemExit):
        importlib.import_module("spark").main()
    assert "wirte" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.timeout(600)
def test_all_of_it_tiny(kafka, tmp_path):
    if not (BENCH.parent / ".cache" / "spark" / "connector" / ".complete").exists():
        pytest.skip("Spark's Kafka connector is not there: tools/fetch_spark_connector.sh")
    target = tmp_path / "spark.json"
    words = ["--quick", "--bootstrap", kafka.bootstrap, "--json", str(target)]
    done = subprocess.run(
        [sys.executable, str(BENCH / "spark.py"), *words],
        capture_output=True, text=True, timeout=580,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| goal | wanted | found | met |" in done.stdout
    found = json.loads(target.read_text())
    assert {"batch", "stream", "write", "latency", "memory", "plan"} <= set(found)
    assert found["plan"]["alone"][0]["partitions"] == 20
    assert found["memory"]["runs"]["kcore"]["batches"] >= 6
    assert len(found["latency"]["runs"]["kcore"][0]["latency_s"]) == 2
