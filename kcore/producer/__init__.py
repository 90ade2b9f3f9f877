"""The producer, composed: options and `ProducerCore`."""
