"""Jobs on real rows: the flights that left New York in 2013, and the weather they left in.

Each job is a module with `TOPICS` (what it reads, and how the rows get there), `run` (the streaming
query), `expected` (the same answer by pandas) and `plot`. `runner` puts them together.
"""

from __future__ import annotations

from typing import Final

NAMES: Final = ("delays", "weather", "aircraft")
