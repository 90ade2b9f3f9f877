"""Consumer groups of KIP-848, without I/O: the coordinator assigns, members reconcile one by one.

A heartbeat is all that a member sends. What it says goes into the group (`heartbeats.py`), may
bump the group's epoch, which makes a new target assignment (`assigning.py`), and the member is led
towards its part of that (`reconciling.py`) at its own pace: first it gives up, then it gets.
"""

from __future__ import annotations
