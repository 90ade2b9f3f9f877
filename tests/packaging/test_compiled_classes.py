"""Methods of compiled classes, called on what they are not of (`Producer.send("t", b"v")`, where
somebody has forgotten to make a producer): a TypeError, as of any class. Cython's own functions do
not look at `self`, and the process would die.
"""

import importlib
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import kcore

CALLS = """
import importlib, sys
module = importlib.import_module(sys.argv[1])
for cls in [one for one in vars(module).values() if isinstance(one, type)]:
    for name, method in vars(cls).items():
        if type(method).__name__ not in ("method_descriptor", "cython_function_or_method"):
            continue
        for self in (None, "t", object()):
            for more in range(8):
                print(cls.__name__, name, type(self).__name__, more, flush=True)
                try:
                    method(self, *["v"] * more)
                except TypeError:
                    continue
                raise SystemExit(f"{cls.__name__}.{name} takes a {type(self).__name__}")
"""


def compiled():
    """Every compiled module, by name."""
    found = set()
    for folder in ("kcore", "kcore.clients"):
        root = Path(importlib.import_module(folder).__file__).parent
        for path in root.rglob(f"*{EXTENSION_SUFFIXES[0]}"):
            place = path.relative_to(root)
            name = place.name.removesuffix(EXTENSION_SUFFIXES[0])
            found.add(".".join([folder, *place.parts[:-1], name]))
    return sorted(found)


def test_they_are_found():
    assert {"kcore.wire.frames", "kcore.clients.producer.loop_door"} <= set(compiled())


@pytest.mark.parametrize("module", compiled())
def test_a_method_that_is_called_on_something_else_is_a_type_error(module):
    called = subprocess.run(
        [sys.executable, "-c", CALLS, module], capture_output=True, text=True, timeout=120
    )
    assert called.returncode == 0, (called.stdout.splitlines()[-1:], called.stderr)


def test_a_class_of_producers_that_is_taken_for_one_says_so():
    with pytest.raises(TypeError, match="on a producer, not on 'str'"):
        kcore.Producer.send("t", b"v")
