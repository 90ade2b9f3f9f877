"""The runs of contenders: who takes part, and that all read the same."""

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
    found = tables.shares(runs, "kcore", "probe", "wall_s")
    assert found == [0.5, 0.5, 0.8]
    assert tables.percent(found) == "50% (50%-80%)"
    assert tables.share(runs, "kcore", "probe", "wall_s") == 0.5
    assert tables.median(runs["kcore"], "wall_s") == 2.0
    assert tables.shares({"kcore": runs["kcore"]}, "kcore", "probe", "wall_s") == []
    assert tables.share(runs, "kcore", "java", "wall_s") is None
    assert tables.percent([]) == "-"


def test_a_round_whose_cpu_is_not_known_is_left_out():
    tables = importlib.import_module("tables")
    runs = {"kafka": [run(1.0, 2.0), run(1.0, -0.1), run(1.0, 2.0)],
            "kcore": [run(1.0, 1.0), run(1.0, 1.0), run(1.0, 0.0)]}  # fmt: skip
    assert tables.shares(runs, "kcore", "kafka", "cpu_s") == [2.0]
    assert tables.shares(runs, "kcore", "kafka", "wall_s") == [1.0, 1.0, 1.0]


def test_records_of_different_numbers_compare_by_record():
    tables = importlib.import_module("tables")
    runs = {"probe": [run(1.0)], "slow": [run(1.0, records=125_000)]}
    assert tables.shares(runs, "slow", "probe", "wall_s") == [0.125]


def test_columns_are_held_against_columns():
    tables = importlib.import_module("tables")
    everyone = {"probe": [], "probe-columns": [], "probe-views": []}
    assert tables.ceiling_of(everyone, "kcore") == "probe"
    assert tables.ceiling_of(everyone, "kcore-arrow") == "probe-columns"
    assert tables.ceiling_of(everyone, "kcore-views") == "probe-views"
    del everyone["probe-views"]  # with a codec
    assert tables.ceiling_of(everyone, "kcore-views") == "probe-columns"


def test_readers_that_read_something_else_are_found_out():
    rounds = importlib.import_module("rounds")
    shape = importlib.import_module("topics").Shape(records=10)
    alike = [run(1.0, records=10, bytes=5, offsets=7)]
    part = [run(1.0, records=5, bytes=1, offsets=1)]
    names = ["probe", "kcore", "aiokafka", "codec-library"]
    cases = rounds.side_by_side(names, shape)
    other = [run(1.0, records=10, bytes=5, offsets=8)]
    # One that read a part, and one that reads no records at all, have nothing to agree on.
    rounds.agree(dict(zip(names, (alike, alike, part, other), strict=True)), cases)
    with pytest.raises(SystemExit, match="do not agree"):
        rounds.agree({"probe": alike, "kcore": other}, cases)


def test_what_cannot_take_part_is_left_out(monkeypatch, capsys):
    rounds = importlib.import_module("rounds")
    contenders = importlib.import_module("contenders")
    shape = importlib.import_module("topics").Shape()
    monkeypatch.setattr(contenders.shutil, "which", lambda _name: None)
    monkeypatch.setattr(contenders, "CACHE", Path("/nowhere"))
    cases = rounds.side_by_side(["probe", "franz-go"], shape)
    assert list(rounds.commands_of(cases)) == ["probe"]
    assert "franz-go is left out: no go on the PATH" in capsys.readouterr().err
    cases = rounds.side_by_side(["probe-views", "kcore"], shape._replace(codec="gzip"))
    assert list(rounds.commands_of(cases)) == ["kcore"]


def test_a_contender_that_fails_ends_the_run():
    rounds = importlib.import_module("rounds")
    with pytest.raises(SystemExit, match="no such topic"):
        rounds.last_line([sys.executable, "-c", "raise SystemExit('no such topic')"])


def test_an_unknown_contender_is_refused(monkeypatch, capsys):
    compare = importlib.import_module("compare")
    monkeypatch.setattr(sys, "argv", ["compare.py", "--only", "kcore,kafak"])
    with pytest.raises(SystemExit):
        compare.main()
    assert "kafak" in capsys.readouterr().err


def compared(kafka, monkeypatch, target, *options):
    compare = importlib.import_module("compare")
    words = ["--bootstrap", kafka.bootstrap, "--records", "2000", "--partitions", "2"]
    words += ["--value-bytes", "20", "--rounds", "1", "--json", str(target), *options]
    monkeypatch.setattr(sys, "argv", ["compare.py", *words])
    assert compare.main() == 0
    written = json.loads(target.read_text())
    assert {"command", "commit", "machine", "load", "versions"} <= set(written["about"])
    return written["cells"][0]["runs"]


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.timeout(400)  # the probes are compiled first
@pytest.mark.parametrize("codec", ["lz4", "none"])
def test_the_probes_read_what_kcore_reads(kafka, monkeypatch, tmp_path, codec):
    names = "probe,probe-columns,probe-views,kcore,kcore-arrow,codec-library,codec-kcore"
    runs = compared(kafka, monkeypatch, tmp_path / "f.json", "--codec", codec, "--only", names)
    read = {name: found for name, (found,) in runs.items() if not name.startswith("codec")}
    assert ("probe-views" in read) == (codec == "none")
    assert {(found["records"], found["bytes"]) for found in read.values()} == {(2000, 56_000)}
    if codec != "none":
        assert runs["codec-library"][0]["bytes"] == runs["codec-kcore"][0]["bytes"] > 56_000
        assert runs["codec-library"][0]["packed_bytes"] < 56_000


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.timeout(400)
def test_everyone_reads_a_small_topic(kafka, monkeypatch, tmp_path, capsys):
    runs = compared(kafka, monkeypatch, tmp_path / "figures.json")
    assert {"probe", "kcore", "kcore-iterate", "confluent", "aiokafka", "java"} <= set(runs)
    contenders = importlib.import_module("contenders").CONTENDERS
    for name, (found,) in runs.items():
        assert found["records"] >= 2000 // contenders[name].share
        assert found["wall_s"] > 0
    printed = capsys.readouterr().out
    assert "kcore `poll()`" in printed
    assert "Java consumer" in printed
