"""The demo's member processes: started, listened to, and ended, whatever happens to the parent."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import IO, Any, Final, Self

LEAVE_S: Final = 10.0
TERMINATE_S: Final = 2.0
COMPLAINT_LINES: Final = 20


class Members:
    """`count` processes of member.py with one spec. What they say arrives in order by `next`.

    A process that ended without a word is made to say `failed`, with the end of its standard error.
    """

    def __init__(self, count: int, spec: Mapping[str, Any]) -> None:
        self._command = [sys.executable, "-m", "kcore.cli.demo.member", json.dumps(spec)]
        self._count = count
        self._said: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
        self._processes: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        try:
            for number in range(self._count):
                self._start(number)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def next(self, timeout_s: float) -> tuple[int, dict[str, Any]] | None:
        """(member, message), or None if nobody says anything for that long."""
        try:
            return self._said.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def stop(self) -> None:
        """Let them leave the group and end; end those that do not."""
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
        deadline_s = time.monotonic() + LEAVE_S
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.terminate()
                try:
                    process.wait(TERMINATE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self._processes.clear()

    def _start(self, number: int) -> None:
        complaints = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (the listener's)
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            start_new_session=True,  # a Ctrl-C at the terminal is the parent's to handle
        )
        self._processes.append(process)
        threading.Thread(
            target=self._listen, args=(number, process, process.stdout, complaints), daemon=True
        ).start()

    def _listen(
        self,
        number: int,
        process: subprocess.Popen[str],
        output: IO[str],
        complaints: IO[str],
    ) -> None:
        ended = False
        with output:
            for line in output:
                message = json.loads(line)
                ended = ended or message["said"] in {"failed", "left"}
                self._said.put((number, message))
        code = process.wait()
        if not ended:
            complaints.seek(0)
            tail = "".join(complaints.readlines()[-COMPLAINT_LINES:])
            self._said.put((number, {"said": "failed", "error": f"exit {code}\n{tail}"}))
        complaints.close()
