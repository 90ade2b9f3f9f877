"""kcore.AsyncConsumer, `async for record in consumer`."""

from on_a_loop import iterate, run

from kcore import AsyncConsumer, TopicPartition

run("kcore async for", AsyncConsumer, TopicPartition, iterate)
