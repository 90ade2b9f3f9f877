"""Share-partitions (KIP-932): which member has which records of a partition, and for how long.

states.py       what becomes of a record
batches.py      records in flight, as runs of one state
partition.py    one share-partition: acquire, acknowledge, release, expire
throttling.py   records that keep coming back are given out in small portions
letters.py      what a dead letter queue gets of records that were given up
archiving.py    how they get there
keeping.py      what outlives a leader, in Kafka's own records
sessions.py     who reads what, by which connection
shares.py       the share-partitions and sessions of one node
"""

from __future__ import annotations
