"""confluent-kafka's share consumer, in a process of its own: it is new, and what its C waits for
without end must not hold up a run.

Run as a program it does what it is told, a line at a time, and answers with a line of JSON.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
from contextlib import suppress
from typing import Any

import confluent_kafka

ANSWER_S = 20.0  # beyond what it was told to wait
CLOSE_S = 10.0


class Sharer:
    """A member of a share group; `close` does not wait for long."""

    def __init__(self, bootstrap: str, group: str, topic: str, client_id: str = "sharer") -> None:
        command = [sys.executable, __file__, bootstrap, group, topic, client_id]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._ask("begin")

    def poll(self, timeout_s: float) -> list[str]:
        """Values of records, which the next poll or commit accepts."""
        return [str(value) for value in self._ask(f"poll {timeout_s}", timeout_s)]

    def commit_sync(self) -> None:
        self._ask("commit")

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _ask(self, what: str, timeout_s: float = 0) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\n".encode())
        ready, _, _ = select.select([self._process.stdout], [], [], timeout_s + ANSWER_S)
        assert ready, f"no answer to {what!r}"
        answer = self._process.stdout.readline()
        assert answer, f"it ended at {what!r}, with {self._process.wait()}"
        return json.loads(answer)


def main() -> None:
    bootstrap, group, topic, client_id = sys.argv[1:]
    consumer = confluent_kafka.ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": client_id,
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    for line in sys.stdin:
        verb, *rest = line.split()
        values = []
        if verb == "poll":
            for message in consumer.poll(float(rest[0])):
                assert message.error() is None, message.error()
                values.append(message.value().decode())
        elif verb == "commit":
            consumer.commit_sync()
        print(json.dumps(values), flush=True)
    consumer.close()


if __name__ == "__main__":
    main()
