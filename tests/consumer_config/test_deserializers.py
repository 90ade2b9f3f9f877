"""Deserializers of both kinds in the form the record reader calls."""

from kafka.serializer import DefaultSerializer

from kcore.consumer.config import ConsumerConfig
from kcore.settings.deserializers import normal_form


def test_none_stays_none():
    assert normal_form(None) is None
    assert ConsumerConfig().fetch().value_deserializer is None


def test_a_callable_gets_the_data():
    assert normal_form(int)("t", [], b"5") == 5
    assert normal_form(lambda data: data is None)("t", [], None) is True


def test_kafka_pythons_objects_get_everything():
    assert normal_form(DefaultSerializer("latin-1"))("t", [], b"\xe4") == "ä"

    class Telling:
        def deserialize(self, topic, headers, data):
            return topic, headers, data

    assert normal_form(Telling())("t", [("h", b"")], b"x") == ("t", [("h", b"")], b"x")


def test_the_reader_gets_the_normal_form():
    config = ConsumerConfig.from_options({"key_deserializer": bytes.decode})
    assert config.fetch().key_deserializer("t", [], b"k") == "k"
