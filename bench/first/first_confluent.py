"""confluent-kafka: the least program that reads one record in a new group."""

import sys
import time

from confluent_kafka import Consumer

bootstrap, topic, group = sys.argv[1:]
consumer = Consumer(
    {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
)
consumer.subscribe([topic])
while not consumer.consume(1, timeout=1.0):
    pass
print(time.monotonic())
