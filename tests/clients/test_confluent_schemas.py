"""confluent-kafka's own serializers over a schema registry, with kcore in the place of its clients:
they are Python of theirs, which finds ours for what it imports.
"""

import subprocess
import sys

import pytest
from schema_registry import SchemaRegistry

from kcore.embedded import EmbeddedBroker

PROGRAM = """
import sys
import kcore
kcore.install_as_confluent_kafka()
from confluent_kafka import DeserializingConsumer, SerializingProducer
from confluent_kafka.error import ValueDeserializationError
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.serialization import StringDeserializer, StringSerializer

where, url, kind = sys.argv[1:]
registry = SchemaRegistryClient({"url": url})
if kind == "avro":
    from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
    schema = '{"type":"record","name":"U","fields":[{"name":"name","type":"string"}]}'
    serialize, deserialize = AvroSerializer(registry, schema), AvroDeserializer(registry)
    value, plain = {"name": "x"}, dict
elif kind == "json":
    from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
    schema = '{"title":"U","type":"object","properties":{"name":{"type":"string"}}}'
    serialize, deserialize = JSONSerializer(schema, registry), JSONDeserializer(schema)
    value, plain = {"name": "x"}, dict
else:
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    file = descriptor_pb2.FileDescriptorProto(name="u.proto", syntax="proto3")
    field = file.message_type.add(name="U").field.add(name="name", number=1, type=9, label=1)
    pool = descriptor_pool.Default()
    pool.Add(file)
    U = message_factory.GetMessageClass(pool.FindMessageTypeByName("U"))
    conf = {"use.deprecated.format": False}
    serialize = ProtobufSerializer(U, registry, conf)
    deserialize = ProtobufDeserializer(U, conf)
    value, plain = U(name="x"), lambda found: {"name": found.name}

told = []
producer = SerializingProducer({
    "bootstrap.servers": where,
    "key.serializer": StringSerializer(),
    "value.serializer": serialize,
})
producer.produce("t", key="k", value=value, on_delivery=lambda error, message: told.append(error))
assert producer.flush(10) == 0
assert told == [None], told
consumer = DeserializingConsumer({
    "bootstrap.servers": where,
    "group.id": "g",
    "auto.offset.reset": "earliest",
    "key.deserializer": StringDeserializer(),
    "value.deserializer": deserialize,
})
consumer.subscribe(["t"])
message = consumer.poll(10)
print(message.key(), plain(message.value())["name"])

other = kcore.Producer(bootstrap_servers=where)
other.send("t", b"no schema", key=b"k").get(10)
try:
    consumer.poll(10)
except ValueDeserializationError as error:
    print(error.code == error.kafka_message is None, error.kafka_message.value())
consumer.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["avro", "json", "protobuf"])
def test_serializers_of_theirs(kind):
    with EmbeddedBroker() as broker, SchemaRegistry() as registry:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, broker.bootstrap, registry.url, kind],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == ["k x", "False b'no schema'"]
        assert registry.subjects == {"t-value": [1]}
