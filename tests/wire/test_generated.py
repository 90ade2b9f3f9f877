"""The committed message modules are what the generator makes of the schema texts."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from wire_samples import CLASSES, case_id, structs_of

from kcore.wire import messages
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.message import END, Message

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("generate_wire", ROOT / "tools/generate_wire.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate_wire"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["generate_wire"]


def test_committed_files_are_up_to_date(generator):
    files = generator.generate()
    assert {path: path.read_text("utf-8") for path in files} == files
    assert set(generator.MESSAGES.glob("*.py")) == set(files)


def test_the_generator_reports_differences(generator, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(generator, "MESSAGES", tmp_path / "messages")
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["generate_wire.py", "--check"])
    assert generator.main() == 1
    monkeypatch.setattr(sys, "argv", ["generate_wire.py"])
    assert generator.main() == 0
    stale = tmp_path / "messages" / "gone.py"
    stale.write_text("")
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["generate_wire.py", "--check"])
    assert generator.main() == 1
    assert capsys.readouterr().out == "messages/gone.py\n"
    monkeypatch.setattr(sys, "argv", ["generate_wire.py"])
    assert generator.main() == 0
    assert not stale.exists()


@pytest.mark.parametrize(
    "text",
    [
        "request X key 1 versions 0 flexible\n",
        "request X key 1 versions a flexible none\n",
        "request X key 1 versions 0 flexible none\n  Name string 0+\n",
        "request X key 1 versions 0 flexible none\n        Name string 0+\n",
        "request X key 1 versions 0 flexible none\n    Name string 0+ odd\n",
        "request X key 1 versions 0 flexible none\n    A []B 0+\n        struct C  0+\n",
    ],
)
def test_what_is_not_a_schema_is_refused(generator, text):
    with pytest.raises(generator.SchemaError):
        generator.parse_schema(text)


def test_two_structs_of_one_name_are_refused(generator):
    text = (
        "data X versions 0 flexible none\n"
        "    A []S 0+\n        B int8 0+\n    C []S 0+\n        D int8 0+\n"
    )
    (message,) = generator.parse_schema(text)
    with pytest.raises(generator.SchemaError, match="defined twice"):
        message.all_structs()


@pytest.mark.parametrize("api", ApiKey, ids=lambda api: api.stem)
def test_the_table_of_apis_agrees_with_the_schema(api, generator):
    (path,) = generator.SCHEMA.glob(f"{api:02d}_*.txt")
    request, response = generator.parse_schema(path.read_text("utf-8"))
    ours = API_TABLE[api]
    assert (request.key, response.key) == (api, api)
    assert request.versions == response.versions
    assert ours.min_version == request.versions[0]
    assert ours.max_version == request.versions[1] - request.unstable
    assert ours.request.__name__ == request.name
    assert ours.response.__name__ == response.name
    assert ours.request.API_KEY == ours.response.API_KEY == api


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_what_the_codec_relies_on(cls):
    assert issubclass(cls, Message)
    for struct in structs_of(cls):
        made = struct()
        assert not hasattr(made, "__dict__")
        assert struct.__slots__ == tuple(row[0] for row in struct.FIELDS)
        # Keyword construction and defaults: those of the table, lists and structs made anew.
        for row in struct.FIELDS:
            value = getattr(made, row[0])
            if row[6] is ...:
                assert value is not getattr(struct(), row[0])
                assert value == [] if row[1].startswith("[]") else value == type(value)()
            else:
                assert value == row[6]
            assert row[3] in (END, *range(20))
    # An item of no bytes would let a count claim any number of them.
    for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
        for struct in structs_of(cls):
            used = any(
                row[1] == f"[]{struct.__name__}" and row[2] <= version <= row[3]
                for holder in structs_of(cls)
                for row in holder.FIELDS
            )
            plain = [row for row in struct.FIELDS if row[2] <= version <= row[3] and row[7] < 0]
            assert not used or plain or version >= (cls.FLEXIBLE_FROM or END)


def test_messages_are_loaded_one_by_one():
    code = (
        "import sys; from kcore.wire.messages import HeartbeatRequest\n"
        "print(*sorted(n for n in sys.modules if n.startswith('kcore.wire.messages.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == ["kcore.wire.messages.heartbeat"]


def test_a_name_that_is_no_message():
    with pytest.raises(AttributeError, match="NoSuchRequest"):
        _ = messages.NoSuchRequest
    with pytest.raises(ImportError):
        from kcore.wire.messages import NoSuchRequest  # noqa: F401, PLC0415


def test_messages_compare_and_print_by_value():
    one = messages.HeartbeatRequest(group_id="g", generation_id=3)
    assert one == messages.HeartbeatRequest(group_id="g", generation_id=3)
    assert one != messages.HeartbeatRequest(group_id="g", generation_id=4)
    assert one != "g"
    assert repr(one) == (
        "HeartbeatRequest(group_id='g', generation_id=3, member_id='', group_instance_id=None)"
    )
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    with pytest.raises(AttributeError):
        one.no_such_field = 1
