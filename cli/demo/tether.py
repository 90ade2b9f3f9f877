"""Run a program that ends when the process that started it does, however that one ends.

    python tether.py PARENT_PID PROGRAM ARGS...

Linux kills it for us (prctl PR_SET_PDEATHSIG, which outlives exec). Elsewhere the program is just
started: whoever started it still ends it on every ordinary way out. Runs as a script, without
kcore, so that it costs a few milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent, then become the program, under the same pid."""
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the tie was made
        sys.exit(1)
    os.execvp(program[0], program)


if __name__ == "__main__":
    main()
