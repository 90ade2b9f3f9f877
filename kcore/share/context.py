"""What the parts of a share consumer have in common: who is around them, and the timers."""

from __future__ import annotations

from kcore.group.context import Surroundings
from kcore.share.config import ShareGroupConfig


class ShareContext(Surroundings):
    """Given to each part."""

    config: ShareGroupConfig
