"""Simulated producers, and exactly-once from one topic to another (KIP-98, KIP-447, KIP-890).

producing.py a `ProducerCore` at work: records, verbs of transactions, and what becomes of them
writers.py   idempotent and transactional producers, which write numbered records
movers.py    consume, transform, produce: offsets go with the transaction
readers.py   consumers without a group that read all there is, with read_committed or without
copies.py    what logs hold, read from the brokers' own bytes: what brokers may do
judge.py     what applications were told, against that: what clients may do
settle.py    what is to be when the faults are over, and what is left behind
"""

from __future__ import annotations
