"""The demonstration: a real Kafka, a real data set, and a group of three that reads it."""
