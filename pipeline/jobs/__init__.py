"""Jobs on real rows: the flights that left New York in 2013, and the weather they left in.

Each job is a module with `TOPICS` (their options), `READS` and `records` (which it reads, and what
they are filled with), `run` (the streaming queries), `results` (what came of them), `expected` (the
same by pandas) and `plot`. `runner` puts them together.
"""

from __future__ import annotations

from typing import Final

NAMES: Final = ("delays", "weather", "aircraft")
