"""Every option of consumers and producers, with values that fit none, or few, of them."""

import pytest

from kcore import errors
from kcore.consumer.config import ConsumerConfig
from kcore.producer.config import ProducerConfig

VALUES = [None, {}, [], 0, -1, "", object(), float("nan"), 10**30]
SERVERS = {"bootstrap_servers": "h:1"}


@pytest.mark.parametrize("config", [ConsumerConfig, ProducerConfig])
def test_it_works_or_is_an_error_that_names_the_option(config):
    names = sorted(config.from_options(dict(SERVERS)).as_mapping())
    said = {}
    assert len(names) > 80
    for name in names:
        for value in VALUES:
            try:
                config.from_options(SERVERS | {name: value})
            except errors.KafkaError as error:  # anything else is an error of ours
                said[name, repr(value)] = str(error)
    assert len(said) > 300
    assert [at for at, text in said.items() if at[0].split("_")[0] not in text] == []
