"""The end-to-end comparison, tiny, so that it does not rot."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(autouse=True)
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))


def run(wall, cpu=1.0, records=1_000_000, **more):
    return {"name": "x", "records": records, "wall_s": wall, "cpu_s": cpu, "peak_rss_mb": 1} | more


def test_ratios_are_taken_round_by_round():
    tables = importlib.import_module("tables")
    # The machine was three times slower in the second round, for both.
    runs = {"probe": [run(1.0), run(3.0), run(1.0)], "kcore": [run(2.0), run(6.0), run(1.25)]}
    found = tables.ratios(runs, "kcore", "wall_s")
    assert found == [0.5, 0.5, 0.8]
    assert tables.percent(found) == "50% (50%-80%)"
    assert tables.median(runs["kcore"], "wall_s") == 2.0
    assert tables.ratios({"kcore": runs["kcore"]}, "kcore", "wall_s") == []
    assert tables.percent([]) == "-"


def test_records_of_different_numbers_compare_by_record():
    tables = importlib.import_module("tables")
    runs = {"probe": [run(1.0)], "slow": [run(1.0, records=125_000)]}
    assert tables.ratios(runs, "slow", "wall_s") == [0.125]


def test_readers_that_read_something_else_are_found_out():
    compare = importlib.import_module("compare")
    shape = importlib.import_module("topics").Shape(records=10)
    alike = [run(1.0, records=10, bytes=5, offsets=7)]
    part = [run(1.0, records=5, bytes=1, offsets=1)]
    compare.agree({"a": alike, "b": alike, "part": part}, shape)
    other = [run(1.0, records=10, bytes=5, offsets=8)]
    with pytest.raises(SystemExit, match="do not agree"):
        compare.agree({"a": alike, "b": other}, shape)


def test_what_cannot_be_built_is_left_out(monkeypatch, capsys):
    compare = importlib.import_module("compare")
    contenders = importlib.import_module("contenders")
    monkeypatch.setattr(contenders.shutil, "which", lambda _name: None)
    monkeypatch.setattr(contenders, "CACHE", Path("/nowhere"))
    assert list(compare.commands_of(["probe", "franz-go"], "none")) == ["probe"]
    assert "franz-go is left out: no go on the PATH" in capsys.readouterr().err
    assert list(compare.commands_of(["probe-views", "kcore"], "gzip")) == ["kcore"]


def test_an_unknown_contender_is_refused(monkeypatch, capsys):
    compare = importlib.import_module("compare")
    monkeypatch.setattr(sys, "argv", ["compare.py", "--only", "kcore,kafak"])
    with pytest.raises(SystemExit):
        compare.main()
    assert "kafak" in capsys.readouterr().err


@pytest.mark.kafka
@pytest.mark.timeout(400)
def test_everyone_reads_a_small_topic(kafka, monkeypatch, tmp_path, capsys):
    compare = importlib.import_module("compare")
    target = tmp_path / "figures.json"
    options = ["--bootstrap", kafka.bootstrap, "--records", "2000", "--partitions", "2"]
    options += ["--value-bytes", "20", "--rounds", "1", "--json", str(target)]
    monkeypatch.setattr(sys, "argv", ["compare.py", *options])
    assert compare.main() == 0
    written = json.loads(target.read_text())
    assert {"command", "commit", "machine", "load"} <= set(written["about"])
    runs = written["cells"][0]["runs"]
    assert {"probe", "kcore", "kcore-iterate", "confluent", "aiokafka", "java"} <= set(runs)
    for name, (found,) in runs.items():
        assert found["records"] >= (250 if name == "kafka-python" else 2000)
        assert found["wall_s"] > 0
    printed = capsys.readouterr().out
    assert "kcore poll()" in printed
    assert "Java consumer" in printed


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.timeout(400)
def test_a_tiny_matrix(kafka, monkeypatch, capsys):
    compare = importlib.import_module("compare")
    monkeypatch.setattr(compare, "MATRIX_VALUE_BYTES", (10,))
    monkeypatch.setattr(compare, "MATRIX_PARTITIONS", (1, 3))
    options = ["--bootstrap", kafka.bootstrap, "--records", "300", "--rounds", "1"]
    monkeypatch.setattr(sys, "argv", ["compare.py", "--matrix", "--only", "probe,kcore", *options])
    assert compare.main() == 0
    assert capsys.readouterr().out.count("10000") == 2


@pytest.mark.kafka
def test_memory_is_measured(kafka, monkeypatch, capsys):
    memory = importlib.import_module("memory")
    options = ["--bootstrap", kafka.bootstrap, "--partitions", "3", "--seconds", "0.5"]
    options += ["--records-per-partition", "50", "--max-buffered-bytes", str(1 << 20)]
    monkeypatch.setattr(sys, "argv", ["memory.py", *options])
    assert memory.main() == 0
    printed = capsys.readouterr().out
    assert "3 partitions" in printed
    assert "1 MiB may be buffered" in printed
