"""Records on their way to brokers: partitions chosen, batches gathered, sent, and sent again."""
