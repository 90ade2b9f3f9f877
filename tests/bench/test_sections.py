"""Every section of the whole run, tiny, so that none rots; and what is made of results."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(autouse=True)
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setenv("PYTHONPATH", "")


@pytest.fixture
def tiny():
    plan = importlib.import_module("plan").QUICK
    return replace(
        plan, records=400, many_records=400, cell_bytes=4_000, starts=1, seconds=0.2, settle=0.5
    )


def about():
    return dict.fromkeys(
        ("command", "commit", "machine", "load", "python", "versions", "date"), "x"
    )


def lines(section, found):
    return importlib.import_module("tables").TABLES[section]({"about": about(), **found})


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_the_libraries_alone_unpack_what_kcore_packs(codec):
    unpack = importlib.import_module("unpack")
    records = importlib.import_module("kcore.records")
    rows = [(1_700_000_000_000, b"k", b"a value, a value, a value")] * 50
    plain = records.encode_batch(rows)
    batch = memoryview(records.encode_batch(rows, codec=codec))
    assert bytes(unpack.body_of(batch)) == plain[61:]
    assert (len(batch) < len(plain)) == (codec != "none")


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_codecs_alone(codec):
    bench_codecs = importlib.import_module("bench_codecs")
    plain = bench_codecs.batches(2_000, 4_000)
    cases = [case for case in bench_codecs.cases() if case[0] == bench_codecs.codecs.NAMES[codec]]
    assert cases[0][1] == "kcore"
    assert all(bench_codecs.rate(case, plain, rounds=1) > 0 for case in cases)


def test_encoding_and_decoding_alone():
    alone = importlib.import_module("bench_records")
    batches = alone.rows(10, 1_000)
    log = alone.encode(batches, "lz4")
    assert alone.decode(log) == 1_000
    assert alone.touch(log) == alone.expected(batches)


def test_decoding_alone(monkeypatch, tiny):
    decode = importlib.import_module("decode")
    monkeypatch.setattr(decode, "PASSES", 1)
    found = decode.decode("", tiny)
    assert {cell["form"] for cell in found["cells"]} == {"objects", "touched", "columns", "views"}
    assert all(cell["million_records_per_s"] > 0 for cell in found["cells"])
    assert len(lines("decode", found)) == 2 + 4


@pytest.mark.slow
@pytest.mark.kafka
def test_a_tiny_matrix(kafka, monkeypatch, tiny):
    scaling = importlib.import_module("scaling")
    monkeypatch.setattr(scaling, "VALUE_BYTES", (10,))
    monkeypatch.setattr(scaling, "PARTITIONS", (3,))
    found = scaling.matrix(kafka.bootstrap, tiny)
    (cell,) = found["cells"]
    assert set(cell["runs"]) == {"probe", "kcore 1", "kcore 500", "kcore 10000"}
    assert cell["runs"]["kcore 1"][0]["records"] == 80
    assert cell["runs"]["kcore 500"][0]["records"] == 400
    assert "| 10 | 3 |" in lines("matrix", found)[2]


@pytest.mark.slow
@pytest.mark.kafka
def test_one_record_a_call(kafka, tiny):
    found = importlib.import_module("scaling").single(kafka.bootstrap, tiny)
    assert found["short"] == 20
    assert found["runs"]["kcore 100"][0]["records"] == 100
    assert "consume(1)" in lines("single", found)[3]


@pytest.mark.slow
@pytest.mark.kafka
def test_partitions(kafka, tiny):
    found = importlib.import_module("scaling").partitions(kafka.bootstrap, tiny)
    assert {"kcore 4", "kcore 10"} <= set(found["runs"])
    assert "more CPU" in lines("partitions", found)[0]


@pytest.mark.slow
@pytest.mark.kafka
def test_memory_of_slow_readers(kafka, monkeypatch, tiny):
    memory = importlib.import_module("memory")
    monkeypatch.setattr(memory, "CLIENTS", ("kcore", "aiokafka"))
    found = memory.memory(kafka.bootstrap, tiny)
    shapes = [(cell["client"], cell["partitions"]) for cell in found["cells"]]
    assert shapes == [("kcore", 1), ("aiokafka", 1), ("kcore", 10), ("aiokafka", 10)]
    for cell in found["cells"]:
        assert cell["records"] == (96 if cell["partitions"] == 1 else 480)
        assert 0 <= cell["growth_mb"] < found["bound_mb"]
    assert len(lines("memory", found)) == 2 + 4


@pytest.mark.slow
@pytest.mark.kafka
def test_starting_and_idling(kafka, tiny):
    startup = importlib.import_module("startup")
    found = startup.startup(kafka.bootstrap, tiny)
    assert set(found["first_record_ms"]) == set(startup.FIRST)
    for (took,) in found["first_record_ms"].values():
        assert 10 < took < 60_000
    assert found["import_ms"]["nothing"][0] < found["import_ms"]["kcore Consumer"][0]
    assert len(lines("startup", found)) == 2 + len(startup.IMPORTS)
    found = startup.idle(kafka.bootstrap, tiny)
    assert set(found["clients"]) == set(startup.FIRST)
    for client in found["clients"].values():
        assert client["cpu_ms_per_s"] > 0
        assert client["records"] == 0
    assert len(lines("idle", found)) == 2 + 4


# What is made of results ---------------------------------------------------------------------


def run(wall, cpu, records=1_000_000):
    return {"name": "x", "records": records, "wall_s": wall, "cpu_s": cpu, "peak_rss_mb": 1}


def compared(kcore_s, codec="none"):
    runs = {"probe": [run(1.0, 1.0)], "kcore": [run(kcore_s, kcore_s)], "java": [run(4.0, 4.0)]}
    shape = {"records": 1_000_000, "value_bytes": 100, "partitions": 4, "codec": codec}
    cells = [{"shape": shape, "max_poll_records": 500, "runs": runs}]
    return {"section": "compare", "about": about(), "cells": cells}


def test_a_goal_that_is_missed_is_named():
    goals = importlib.import_module("goals").goals
    listed = goals({"compare": compared(kcore_s=1.25)})
    assert "`poll()` against its ceiling, CPU | >= 80% | 80% | yes |" in "\n".join(listed)
    assert "**no**" not in "\n".join(listed)
    listed = goals({"compare": compared(kcore_s=1.3)})
    assert "`poll()` against its ceiling, CPU | >= 80% | 77% | **no** |" in "\n".join(listed)
    assert "against java, wall | >= 1x | 3.1x | yes |" in "\n".join(listed)


def test_calls_apart_from_start_up():
    tables = importlib.import_module("tables")
    short = [run(1, 0.5, 1_000), run(1, 0.6, 1_000), run(1, 0.5, 1_000)]
    long = [run(1, 0.7, 101_000), run(1, 0.9, 101_000), run(1, 0.7, 101_000)]
    result = {"short": 1_000, "long": 101_000, "runs": {"kcore 1000": short, "kcore 101000": long}}
    assert tables.a_call(result, "kcore", apart=True) == pytest.approx(2.0)
    assert tables.a_call(result, "kcore", apart=False) == pytest.approx(500.0)


def test_tables_land_between_their_marks(tmp_path):
    report = importlib.import_module("report")
    (tmp_path / "compare.json").write_text(json.dumps(compared(2.0)))
    document = tmp_path / "doc.md"
    document.write_text(
        "before\n<!-- bench: compare -->\nold\n<!-- end -->\nbetween\n"
        "<!-- bench: goals -->\n<!-- end -->\n<!-- bench: idle -->\nkept\n<!-- end -->\nafter\n"
    )
    report.write(tmp_path, tmp_path / "plots", document)
    text = document.read_text()
    assert text.startswith("before\n<!-- bench: compare -->\n")
    assert "old" not in text
    assert "| kcore `poll()` | 0.500 | 50% | 2.000 | 50% | 1 |" in text
    assert "<!-- bench: idle -->\nkept\n<!-- end -->\nafter\n" in text
    assert "| goal |" in text
    report.write(tmp_path, tmp_path / "plots", document)
    assert document.read_text() == text
    plot = tmp_path / "plots" / "compare.svg"
    drawn = plot.read_bytes()
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    report.write(tmp_path, tmp_path / "plots", document)
    assert plot.read_bytes() == drawn


def test_the_document_has_a_place_for_every_table():
    report = importlib.import_module("report")
    names = [match[2] for match in report.BLOCK.finditer(report.DOCUMENT.read_text())]
    assert sorted(names) == sorted([*report.TABLES, "goals"])


def test_an_unknown_section_is_refused(monkeypatch, capsys):
    everything = importlib.import_module("all")
    monkeypatch.setattr(sys, "argv", ["all.py", "--only", "compare,memroy"])
    with pytest.raises(SystemExit):
        everything.main()
    assert "memroy" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.timeout(600)
def test_the_whole_run_and_its_resumption(kafka, monkeypatch, tmp_path, capsys):
    everything = importlib.import_module("all")
    names = [name for name in everything.SECTIONS if name != "spark"]  # test_spark_bench.py
    words = ["all.py", "--quick", "--bootstrap", kafka.bootstrap, "--out", str(tmp_path)]
    words += ["--only", ",".join(names)]
    monkeypatch.setattr(sys, "argv", words)
    assert everything.main() == 0
    for name in names:
        assert json.loads((tmp_path / f"{name}.json").read_text())["section"] == name
    plots = importlib.import_module("plots").PLOTS
    assert {path.stem for path in (tmp_path / "plots").glob("*.svg")} == set(plots)
    assert "| goal |" in capsys.readouterr().out
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    monkeypatch.setattr(sys, "argv", [*words, "--resume"])
    assert everything.main() == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")} == times


def test_the_command_is_told_without_paths(monkeypatch):
    machine = importlib.import_module("machine")
    words = ["somewhere/all.py", "--only", "idle", "--out", "elsewhere", "--resume"]
    monkeypatch.setattr(sys, "argv", words)
    assert machine.command() == "python bench/all.py --only idle --resume"
