"""A request of every API: something of everything it can ask for."""

from kcore.records import encode_batch

NOON_MS = 1_700_000_000_000


def sample(cls, version, topic_id=bytes(16)):
    """A request with one element in every array of the version; names are `t`, numbers 0."""
    return _sample(cls, cls, version, topic_id)


def _sample(root, cls, version, topic_id):
    plain = {
        "string": "t",
        "uuid": topic_id,
        "bool": True,
        "records": encode_batch([(NOON_MS, None, b"a")]),
        "bytes": b"x",
        "float64": 0.0,
    }

    if "Acls" in root.__name__:
        plain["int8"] = 3  # a group, by its name, may be read: 0 is what a Kafka cannot read

    def value(kind):
        if kind.startswith("[]"):
            return [value(kind[2:])]
        struct = getattr(root, kind, None)
        return plain.get(kind, 0) if struct is None else _sample(root, struct, version, topic_id)

    return cls(**{row[0]: value(row[1]) for row in cls.FIELDS if row[2] <= version <= row[3]})
