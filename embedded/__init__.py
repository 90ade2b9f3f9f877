"""A broker in this process, on real ports: for tests, and for trying things out."""

from __future__ import annotations

from kcore.embedded.broker import EmbeddedBroker

__all__ = ["EmbeddedBroker"]
