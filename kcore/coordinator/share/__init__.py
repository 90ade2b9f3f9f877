"""Share groups (KIP-932), without I/O: who is in one, and whose partitions are whose.

A member may have partitions that others have, too, so there is nothing to reconcile: what the
target assignment gives it, it has with its next heartbeat. Which records it gets is not decided
here but by the leaders of the partitions (`kcore.broker.share`).
"""

from __future__ import annotations
