"""kcore in the place of confluent-kafka: its names, its configuration, its ways, our engines."""
