"""A signal that strikes in the middle of a call, at a place that is chosen.

Signals are looked for where a function begins, behind each call of something compiled and where a
loop jumps back. A tracer counts these places and raises at the one it was told. It comes one
opcode later than the interpreter; where another `try` or `with` begins there it lets pass.
"""

from __future__ import annotations

import dis
import os
import sys
from functools import cache

import pytest

if os.environ.get("KCORE_DEBUG") == "1":  # `make debug`: compiled frames are shared by threads
    pytest.skip("compiled with line tracing: no tracer may raise there", allow_module_level=True)

_CALLS = {dis.opmap[name] for name in ("CALL", "CALL_FUNCTION_EX", "CALL_KW") if name in dis.opmap}
_JUMPS = {dis.opmap[name] for name in ("JUMP_BACKWARD",)}


@cache
def _handlers(code):
    return [(one.start, one.end, one.target) for one in dis.Bytecode(code).exception_entries]


def _at_an_edge(frame):
    """Whether the opcode before was in another `try` or `with`."""
    at = frame.f_lasti
    return any(edge == at for start, end, _ in _handlers(frame.f_code) for edge in (start, end))


class Strike:
    """Raises `error` at place number `at` of what runs inside `with`, in this thread; counts only
    while `counts()`. left: above 0: there were fewer places.
    """

    def __init__(self, at, error=KeyboardInterrupt, counts=lambda: True):
        self.left = at
        self.error = error
        self.counts = counts
        self.own = sys._getframe(1).f_code.co_filename
        self.last = {}  # frame -> its opcode before, if that was no call of a Python function

    def __enter__(self):
        sys.settrace(self._look)
        return self

    def __exit__(self, *_):
        sys.settrace(None)
        self.last.clear()

    def _pass(self):
        if self.counts():
            self.left -= 1
            if self.left == 0:
                raise self.error

    def _look(self, frame, event, arg):
        if frame.f_code.co_filename in (__file__, self.own):
            return None
        if event == "call":
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
            self.last.pop(frame.f_back, None)  # no C function: nothing is looked for behind it
            self._pass()
        elif event == "opcode":
            opcode = frame.f_code.co_code[frame.f_lasti]
            before = self.last.pop(frame, None)
            self.last[frame] = opcode
            if opcode in _JUMPS or (before in _CALLS and not _at_an_edge(frame)):
                self._pass()
        elif event == "return":
            self.last.pop(frame, None)
        return self._look
