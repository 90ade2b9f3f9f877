"""Delegation tokens (KIP-48, KIP-373): who has logged in gets one for others to log in with.

config.py   what a broker can be told about them
tokens.py   those there are, how long they are good, what proves that somebody has one

The way in is `apis/delegation_tokens.py`; who logs in by one comes through `sasl/scram.py`.
"""

from __future__ import annotations
