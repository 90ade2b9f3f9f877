"""Streams groups (KIP-1071), without I/O: the members of a Kafka Streams application.

A member says once what its application reads and writes (`topology.py`). Which topics that takes,
and of how many partitions, follows from the cluster (`configuring.py`); topics of the application
that are missing are made by the owner. What is shared out are tasks, a part of the topology with a
partition each (`assignor.py`); a member is led towards its tasks as members of consumer groups are
towards partitions (`reconciling.py`).
"""

from __future__ import annotations
