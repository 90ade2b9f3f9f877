"""The benches of the embedded broker run, in small."""

import importlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(autouse=True)
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))


def test_throughput(capsys):
    broker_throughput = importlib.import_module("broker_throughput")
    results = broker_throughput.measure(3, 1, only="16 kB")
    assert len(results) == 3
    assert all(one["mb_s"] > 0 for one in results)
    assert "per CPU s" in capsys.readouterr().out


def test_members():
    broker_members = importlib.import_module("broker_members")
    (found,) = broker_members.measure([5], 0.2, delay_ms=200)
    assert found["members"] == 5
    assert found["idle_core"] < 1


def test_startup():
    broker_startup = importlib.import_module("broker_startup")
    for took_s, cpu_s in (broker_startup.in_process(2), broker_startup.command()):
        assert took_s > 0
        assert cpu_s > 0
