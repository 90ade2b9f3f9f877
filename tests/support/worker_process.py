"""A member that handles records by `kcore.Workers` until it is killed, and notes each one it has
handled as a line of stdout: `partition offset`.
"""

from __future__ import annotations

import os
import random
import sys
import time

from kcore import Consumer, Workers

MOST_S = 0.004


def main() -> None:
    bootstrap, seed = sys.argv[1:]
    rng = random.Random(int(seed))

    def handle(record):
        time.sleep(rng.random() * MOST_S)
        os.write(1, b"%d %d\n" % (record.partition, record.offset))

    with Consumer(
        "t",
        bootstrap_servers=bootstrap,
        group_id="g",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=30,
        fetch_max_wait_ms=20,
    ) as consumer:
        Workers(consumer, handle, threads=4, max_in_flight=50, commit_interval_ms=5).run()


if __name__ == "__main__":
    main()
