"""kafka-python: the least program that reads one record in a new group."""

import sys
import time

from kafka import KafkaConsumer

bootstrap, topic, group = sys.argv[1:]
consumer = KafkaConsumer(
    topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest"
)
while not consumer.poll(timeout_ms=1000):
    pass
print(time.monotonic())
