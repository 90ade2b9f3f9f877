"""Membership in a consumer group, and the offsets the group keeps."""

from __future__ import annotations

from kcore.group.config import GroupConfig
from kcore.group.host import GroupHost
from kcore.group.member import GroupMember

__all__ = ["GroupConfig", "GroupHost", "GroupMember"]
