"""A duration is what Java's `Duration.parse` takes for one: each row was run through it."""

from __future__ import annotations

import pytest

from kcore.durations import parse_ms

S, M, H, D = 1_000, 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("P2D", 2 * D),
        ("PT1H", H),
        ("P1DT2H3M4.5S", D + 2 * H + 3 * M + 4_500),
        ("p1dt2h3m4.5s", D + 2 * H + 3 * M + 4_500),
        ("+P1D", D),
        ("PT+1S", S),
        ("PT1.S", S),
        ("PT1,25S", 1_250),
        ("PT0S", 0),
        ("PT-0S", 0),
        ("P-1DT24H", 0),
        ("PT-1M61S", S),
        ("PT6H-3M", 6 * H - 3 * M),
        ("-PT-6H+3M", 6 * H - 3 * M),
        ("-PT-0.5S", 500),
        ("PT1M-0.5S", M - 500),
        ("PT1M-1.25S", M - 1_250),
        ("PT0.000000001S", 1),  # no record is left out that is young enough
        ("PT" + "0" * 200 + "1S", S),
        ("PT9223372036854775807S", (2**63 - 1) * S),
    ],
)
def test_durations(text: str, ms: int) -> None:
    assert parse_ms(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "P",
            "PT",
            "P1DT",
            "PT1",
            "PTS",
            "1H",
            "P1H",
            "P1M",
            "P1Y",
            "P1W",
            "PT1M1H",
            "PT1H1H",
        ),
        *("PT.5S", "PT1.5H", "PT0.0000000001S", "--PT1S", "PT+-1S", "P-D", "P1D2H"),
        *(" PT1H", "PT1H ", "PT1H\n", "PT 1H", "PT1H\0", "PT1\u017f", "PT\u0661S"),
        "PT" + "9" * 100_000 + "S",
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not a duration$"):
        parse_ms(text)


@pytest.mark.parametrize("text", ["-PT1S", "P-1D", "PT-6H3M", "P-1DT23H", "PT-0.5S", "PT-1.5S"])
def test_negative_ones(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a negative duration$"):
        parse_ms(text)


@pytest.mark.parametrize(
    "text",
    [
        "PT9223372036854775808S",
        "P106751991167301D",
        "PT9223372036854775807M",
        "P1DT9223372036854775807S",
        "P106751991167301DT-9000000000000000S",  # a part of it
    ],
)
def test_too_long_ones(text: str) -> None:
    with pytest.raises(ValueError, match=r"^too long a duration$"):
        parse_ms(text)
