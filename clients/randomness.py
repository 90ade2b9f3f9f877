"""Where a client's core has its randomness from."""

from __future__ import annotations

import random


class ClientRng:
    """A `kcore.structs.Rng`: bits are the system's, since nonces and ids are made of them and must
    not be guessable. Chance (which partition, how long to back off) is drawn a thousand times a
    second where much is sent, and needs no system call, in which other threads would take the
    interpreter: its generator is only seeded by the system.
    """

    __slots__ = ("getrandbits", "random")

    def __init__(self) -> None:
        self.random = random.Random().random
        self.getrandbits = random.SystemRandom().getrandbits
