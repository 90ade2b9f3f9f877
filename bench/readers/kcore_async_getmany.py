"""kcore.AsyncConsumer, getmany()."""

from on_a_loop import getmany, run

from kcore import AsyncConsumer, TopicPartition

run("kcore async getmany()", AsyncConsumer, TopicPartition, getmany)
