"""Rates, averages and maxima over the last samples."""

import pytest

from kcore.meters import SAMPLE_MS, SAMPLES, Meter


def test_what_was_never_recorded_is_nothing():
    meter = Meter(0)
    assert (meter.total, meter.times) == (0, 0)
    for now in (0, 1, 10 * SAMPLE_MS):
        found = meter.rate(now), meter.frequency(now), meter.average(now), meter.largest(now)
        assert found == (0, 0, 0, 0)


def test_a_beginning_does_not_count_as_if_it_went_on():
    meter = Meter(1_000)
    for amount in (10, 20, 60):
        meter.record(amount, 2_000)
    assert meter.rate(2_000) == pytest.approx(90 / 30)
    assert meter.frequency(2_000) == pytest.approx(3 / 30)
    assert (meter.average(2_000), meter.largest(2_000)) == (30, 60)
    assert (meter.total, meter.times) == (90, 3)


def test_a_steady_rate_is_told_as_it_is():
    meter = Meter(0)
    for second in range(600):
        meter.record(7, second * 1000)
        if second > 60:
            assert meter.rate(second * 1000) == pytest.approx(7, rel=0.05)
            assert meter.frequency(second * 1000) == pytest.approx(1, rel=0.05)


def test_the_past_is_forgotten_but_for_its_total():
    meter = Meter(0)
    meter.record(100, 0)
    meter.record(1, SAMPLE_MS)
    assert meter.largest(SAMPLE_MS) == 100
    assert meter.largest(2 * SAMPLE_MS - 1) == 100
    assert meter.largest(2 * SAMPLE_MS) == 1
    assert meter.average(2 * SAMPLE_MS) == 1
    assert meter.rate((SAMPLES + 1) * SAMPLE_MS) == 0
    assert meter.total == 101


def test_negative_amounts_have_a_maximum():
    meter = Meter(0)
    meter.record(-5, 0)
    assert meter.largest(0) == -5
