"""Topics for the jobs: made with the broker's own API, by way of the one client that can."""

from __future__ import annotations

from collections.abc import Mapping


def create(bootstrap: str, topics: Mapping[str, tuple[int, Mapping[str, str]]]) -> None:
    """Create {name: (partitions, options)}; those that are there already stay as they are."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 - of the demo's extra
    from confluent_kafka.admin import AdminClient, NewTopic  # noqa: PLC0415

    admin = AdminClient({"bootstrap.servers": bootstrap})
    wanted = [
        NewTopic(name, num_partitions=count, replication_factor=1, config=dict(options))
        for name, (count, options) in topics.items()
    ]
    for future in admin.create_topics(wanted).values():
        try:
            future.result(30)
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                raise
