"""What a broker keeps of a password for SCRAM (RFC 5802): who has it cannot log in with it."""

from __future__ import annotations

from kcore.tuples import NamedTuple


class Credential(NamedTuple):
    """What is kept of a password: nobody is to see it in a log."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"Credential(iterations={self.iterations})"
