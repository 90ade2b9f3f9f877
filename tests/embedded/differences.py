"""Two transcripts side by side: what one broker said and the other did not."""


def differences(ours, theirs, where=""):
    """Lines of what differs, a field a line."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        found = []
        for key in ours:
            found += differences(ours[key], theirs.get(key), f"{where}.{key}")
        return found
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        found = []
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            found += differences(one, other, f"{where}[{index}]")
        return found
    return [] if ours == theirs else [f"{where}: embedded {ours!r}, Kafka {theirs!r}"]


def compare(ours, theirs):
    """Of two lists of (note, answer)."""
    found = []
    for number, ((note, mine), (_, other)) in enumerate(zip(ours, theirs, strict=False)):
        found += differences(mine, other, f"{number} {note}")
    if len(ours) != len(theirs):
        found.append(f"{len(ours)} answers, Kafka {len(theirs)}")
    return found
