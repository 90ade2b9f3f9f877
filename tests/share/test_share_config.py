"""Options of a share consumer: what is taken, guessed, refused with what to do instead."""

import pytest

from kcore.errors import KafkaConfigurationError
from kcore.share.config import ShareConsumerConfig
from kcore.share.options import REFUSED


def config(**options):
    return ShareConsumerConfig.from_options({"group_id": "g", **options})


def refused(match, **options):
    with pytest.raises(KafkaConfigurationError, match=match) as caught:
        config(**options)
    return caught.value


def test_defaults():
    found = config()
    assert (found.share_acknowledgement_mode, found.share_acquire_mode) == (
        *("implicit", "batch_optimized"),
    )
    assert (found.max_poll_records, found.max_poll_interval_ms) == (500, 300_000)
    assert not found.explicit
    assert found.group().group_id == "g"


def test_names_of_java_are_taken():
    found = ShareConsumerConfig.from_options(
        {
            "group.id": "g",
            "share.acknowledgement.mode": "EXPLICIT",
            "share.acquire.mode": "record_limit",
            "max.poll.records": "7",
        }
    )
    assert found.explicit
    assert found.group().one_by_one
    assert found.group().max_poll_records == 7
    assert found.as_mapping()["share_acquire_mode"] == "record_limit"


@pytest.mark.parametrize("options", [{}, {"group_id": None}, {"group_id": ""}], ids=str)
def test_a_group_is_needed(options):
    with pytest.raises(KafkaConfigurationError, match="group_id"):
        ShareConsumerConfig.from_options(options)


def test_a_name_that_is_mistyped_is_guessed():
    error = refused("did you mean 'share_acknowledgement_mode'", share_acknowledgment_mode="x")
    assert error.suggestion == "share_acknowledgement_mode"


@pytest.mark.parametrize("name", REFUSED)
def test_what_java_refuses_is_refused_whatever_its_value(name):
    refused("is not available: ", **{name: "earliest"})
    refused("is not available: ", **{name: None})


def test_what_belongs_to_the_group_is_named():
    refused(r"set the group's share\.auto\.offset\.reset", auto_offset_reset="earliest")
    refused(r"set the group's share\.isolation\.level", isolation_level="read_committed")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"share_acknowledgement_mode": "auto"}, "'implicit', 'explicit'"),
        ({"share_acquire_mode": "none"}, "'batch_optimized', 'record_limit'"),
        ({"fetch_max_wait_ms": 30_000}, "must be below request_timeout_ms"),
        ({"fetch_min_bytes": 9, "fetch_max_bytes": 8}, "is above fetch_max_bytes"),
        ({"max_poll_records": 0}, "max_poll_records"),
    ],
    ids=str,
)
def test_values_that_cannot_be_are_refused(options, match):
    refused(match, **options)


def test_nothing_unknown_is_among_the_options_in_use():
    assert not {name for name in REFUSED if name in config().as_mapping()}
