"""Our tables against the message definitions inside Kafka's jars (4.4.0)."""

import json
import re
import zipfile

import pytest
from wire_samples import CLASSES, case_id, structs_of

from kcore.cli.demo.java import find_installation
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.message import END

pytestmark = pytest.mark.kafka

NEVER = (-1, -1)
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


@pytest.fixture(scope="module")
def definitions():
    """Kafka's definitions by message name."""
    found = {}
    for part in ("clients", "group-coordinator", "transaction-coordinator", "share-coordinator"):
        (jar,) = find_installation().jars.glob(f"kafka-{part}-[0-9]*.jar")
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.startswith("common/message/") and name.endswith(".json"):
                    message = json.loads(COMMENT.sub("", archive.read(name).decode()))
                    found[message["name"]] = message
    return found


def versions(text):
    if text is None or text == "none":
        return NEVER
    first, _, last = text.partition("-")
    if first.endswith("+"):
        return int(first[:-1]), END
    return int(first), int(last or first)


def python_name(name):
    words = re.findall(r"[A-Z]+\d*(?=[A-Z][a-z]|$)|[A-Z]?[a-z]+\d*", name)
    assert "".join(words) == name
    return "_".join(words).lower()


def default(kind, given):
    if kind.startswith("[]") or kind[0].isupper():
        return None if given == "null" else ...
    if kind.removeprefix("u").startswith("int"):
        return int(str(given), 0) if given is not None else 0
    if kind == "float64":
        return float(given or 0)
    if kind == "bool":
        return str(given).lower() == "true"
    if given == "null":
        return None
    assert not given
    return {"string": "", "bytes": b"", "records": b"", "uuid": bytes(16)}[kind]


def expected_row(field):
    """A row of FIELDS as Kafka's definition has it."""
    tagged = versions(field.get("taggedVersions"))
    span = versions(field["versions"]) if "versions" in field else tagged
    null = versions(field.get("nullableVersions"))
    assert tagged in (NEVER, span), "our form has none that are tagged in some versions only"
    assert (tagged == NEVER) == ("tag" not in field)
    flexible = field.get("flexibleVersions")
    assert flexible in (None, "none"), "our form has none that are compact in some versions only"
    return (
        python_name(field["name"]),
        field["type"],
        *span,
        *null,
        default(field["type"], field.get("default")),
        field.get("tag", -1),
        field.get("ignorable", False),
        flexible == "none",
    )


def expected_structs(message):
    """Every struct of a definition: name -> rows; the message itself under its own name."""
    found = {}

    def collect(name, fields):
        assert name not in found
        found[name] = tuple(expected_row(field) for field in fields)
        for field in fields:
            if "fields" in field:
                collect(field["type"].removeprefix("[]"), field["fields"])

    collect(message["name"], message["fields"])
    for struct in message.get("commonStructs", ()):
        collect(struct["name"], struct["fields"])
    return found


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_every_field_is_as_kafka_defines_it(cls, definitions):
    ours = {struct.__name__: struct.FIELDS for struct in structs_of(cls)}
    theirs = expected_structs(definitions[cls.__name__])
    assert theirs == ours
    # True == 1 and False == 0: compare the types of the defaults too.
    for name, rows in ours.items():
        assert [type(row[6]) for row in rows] == [type(row[6]) for row in theirs[name]]


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_every_message_is_as_kafka_defines_it(cls, definitions):
    theirs = definitions[cls.__name__]
    assert theirs.get("apiKey", -1) == cls.API_KEY
    assert versions(theirs["validVersions"]) == cls.VERSIONS
    flexible = versions(theirs["flexibleVersions"])
    assert (None if flexible == NEVER else flexible[0]) == cls.FLEXIBLE_FROM
    assert flexible[1] in (-1, END)


@pytest.mark.parametrize("api", ApiKey, ids=lambda api: api.stem)
def test_we_speak_all_stable_versions(api, definitions):
    request = definitions[api.stem + "Request"]
    lowest, highest = versions(request["validVersions"])
    ours = API_TABLE[api]
    unstable = bool(request.get("latestVersionUnstable"))
    assert (ours.min_version, ours.max_version) == (lowest, highest - unstable)
    assert versions(definitions[api.stem + "Response"]["validVersions"]) == (lowest, highest)


def test_a_difference_would_be_seen(definitions):
    theirs = expected_structs(definitions["FetchRequest"])["FetchRequest"]
    (ours,) = [cls.FIELDS for cls in CLASSES if cls.__name__ == "FetchRequest"]
    assert ours == theirs
    for column in range(len(ours[0])):
        changed = (*ours[0][:column], object(), *ours[0][column + 1 :])
        assert (changed, *ours[1:]) != theirs
