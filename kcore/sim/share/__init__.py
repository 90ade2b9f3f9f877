"""Simulated share groups (KIP-932), where they differ from groups of consumers.

members.py   a `ShareConsumerCore` each, and an application that acknowledges
custody.py   who has which record, as the wire has it: what brokers may do
hands.py     what applications were handed, have said and were told: what clients may do
judge.py     reads the wire, and tells both
books.py     what is looked at from time to time: share-partitions, sessions, progress
settle.py    what is to be when the faults are over, and what is left behind
"""

from __future__ import annotations
