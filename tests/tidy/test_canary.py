"""A made-up bad tree on which every rule must fail: a rule that cannot fail proves nothing."""

import pytest
import tidy_rules

LONG_FUNCTION = "def endless():\n" + "    x = 1\n" * tidy_rules.FUNCTION_LINES_MAX
NOTE = "# TO" + "DO: later\n"
PYPROJECT = (
    '[tool.setuptools]\npackages = ["kcore", "kcore.gone"]\n[tool.setuptools.package-data]\n'
)

# file -> (rule that must name it, text)
BAD = [
    ("kcore/wire/up.py", "wrong_layers", "from kcore.group.member import GroupMember\n"),
    ("kcore/group/aside.py", "wrong_layers", "def f():\n    from kcore.fetch import fetcher\n"),
    ("kcore/fetch/around.py", "wrong_layers", "from ..cluster import view\n"),
    ("kcore/records/facade.py", "wrong_layers", "from kcore import Consumer\n"),
    ("kcore/limits.py", "wrong_layers", "import kcore.wire.codec\n"),
    ("kcore/wire/lazy.py", "wrong_layers", 'home = "kcore.clients.consumer.consumer"\n'),
    ("kcore/wire/deep.pyx", "wrong_layers", "from kcore.records.batch cimport Batch\n"),
    ("kcore/wire/near.pyx", "wrong_layers", "cimport kcore.fetch.shelf as shelf\n"),
    ("kcore/consumer/broker.py", "wrong_layers", "from kcore.coordinator.group import Group\n"),
    ("kcore/coordinator/client.py", "wrong_layers", "import kcore.connection.link\n"),
    (
        "clients/producer/across.py",
        "wrong_client_rooms",
        "from kcore.clients.consumer import verbs\n",
    ),
    ("clients/up.py", "wrong_client_rooms", "from kcore.clients.admin.engine import AdminEngine\n"),
    ("kcore/wire/unsaid.py", "unnamed_modules", "x = 1\n"),
    ("kcore/surplus/room.py", "wrong_layers", "x = 1\n"),
    ("kcore/group/clock.py", "io_in_core", "import time\n"),
    ("kcore/group/chance.py", "io_in_core", "def f():\n    from random import random\n"),
    ("kcore/wire/clock.pyx", "io_in_core", "from libc.time cimport time\n"),
    ("kcore/wire/net.pyx", "io_in_core", "import struct, socket\n"),
    ("kcore/wire/paths.py", "io_in_core", "import os.path\n"),
    ("kcore/wire/reads.py", "io_in_core", 'data = open("schema").read()\n'),
    ("kcore/group/helped.py", "undeclared", "import requests\n"),
    ("clients/wide.py", "long_lines", "x = 1  # " + "w" * 100 + "\n"),
    ("transports/tall.py", "long_modules", "x = 1\n" * 601),
    ("clients/endless.py", "long_functions", LONG_FUNCTION),
    ("cli/later.py", "left_overs", NOTE),
    ("docs/where.md", "machine_paths", "It is in /wo" + "rk/main.\n"),
    ("kcore/wire/blind.pyx", "untyped_extensions", "x = 1\n"),
    ("tests/b/test_same.py", "colliding_tests", "x = 1\n"),
    ("tests/c/__init__.py", "colliding_tests", ""),
    ("tool-1.0-py3-none-any.whl", "packed_files", ""),
]


@pytest.fixture(scope="module")
def bad_tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("bad")
    texts = {
        "kcore/__init__.py": '_HOMES = {"Consumer": "kcore.clients.consumer.consumer"}\n',
        "tests/a/test_same.py": "x = 1\n",
        "pyproject.toml": PYPROJECT,
        "ARCHITECTURE.md": "`kcore/wire/`: `up.py`, `vanished.py`\n",
    } | {name: text for name, _, text in BAD}
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(("name", "rule", "text"), BAD, ids=[name for name, *_ in BAD])
def test_bad_file_is_named(bad_tree, name, rule, text):
    said = getattr(tidy_rules, rule)(bad_tree)
    assert [line for line in said if line.startswith(name)]


def test_unlisted_and_vanished_packages_are_named(bad_tree):
    said = tidy_rules.unlisted_packages(bad_tree)
    assert "kcore.wire is not in pyproject.toml's packages" in said
    assert "kcore.gone is no folder here" in said


def test_unnamed_rooms_are_named(bad_tree):
    said = tidy_rules.unnamed_rooms(bad_tree)
    assert "ARCHITECTURE.md does not name group/" in said
    assert "ARCHITECTURE.md does not name wire/" not in said


def test_modules_that_are_named_and_gone_are_named(bad_tree):
    said = tidy_rules.unnamed_modules(bad_tree)
    assert "ARCHITECTURE.md: no vanished.py is there" in said
    assert not [line for line in said if "up.py" in line]


def test_every_rule_has_a_canary():
    elsewhere = {"unlisted_packages", "unnamed_rooms"}
    names = {rule.__name__ for rule in tidy_rules.RULES}
    assert names == {rule for _, rule, _ in BAD} | elsewhere


def test_good_imports_pass(tmp_path):
    module = tmp_path / "kcore" / "group" / "good.py"
    module.parent.mkdir(parents=True)
    module.write_text(
        "import struct\nfrom kcore.wire import codec\nfrom kcore.errors import KafkaError\n"
    )
    assert not tidy_rules.wrong_layers(tmp_path)
    assert not tidy_rules.io_in_core(tmp_path)
    assert not tidy_rules.undeclared(tmp_path)
