"""What a real Kafka answered, kept in a file: our broker is held to it without one, and a Kafka,
when there is one, to what it said before. With KCORE_RECORD=1 what a Kafka says now is kept.
"""

import itertools
import json
import os


def hold(path, name, found, *, theirs=False):
    """These answers are those that are kept there under this name. theirs: they are a Kafka's."""
    found = plain(found)
    if theirs and "KCORE_RECORD" in os.environ:
        said = json.loads(path.read_text()) if path.exists() else {}
        said[name] = found
        path.write_text(_written(said))
    differences = [
        f"{number}:\n  now:    {one}\n  before: {other}"
        for number, (one, other) in enumerate(itertools.zip_longest(found, kept(path, name)))
        if one != other
    ]
    assert not differences, "\n".join(differences)
    assert found


def plain(found):
    """As it comes back from a file."""
    return json.loads(json.dumps(list(found), default=bytes.hex))


def kept(path, name):
    """What a Kafka said under this name."""
    said = json.loads(path.read_text())
    assert name in said, f"nothing is kept of {name}: run its test of a Kafka with KCORE_RECORD=1"
    return said[name]


def _written(said):
    """A line for each answer."""
    parts = (
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(note) for note in said[name]) + "\n]"
        for name in sorted(said)
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"
