"""aiokafka, getmany()."""

from aiokafka import AIOKafkaConsumer, TopicPartition
from on_a_loop import getmany, run

run("aiokafka", AIOKafkaConsumer, TopicPartition, getmany)
