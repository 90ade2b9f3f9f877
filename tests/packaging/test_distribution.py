"""What is published, built and installed as a user's pip does it: nothing is missing."""

import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]
# Where each package's files are in the tree.
PLACES = {"cli": "kcore/cli", "clients": "kcore/clients", "embedded": "kcore/embedded"}
PLACES |= {"pipeline": "kcore/pipeline", "transports": "kcore/transports", "kcore": "kcore"}
# Of what is compiled the wheel has the extension; who cimports needs the declarations only.
LEFT_OUT = {".pyx", ".h"}

USE_IT = """
import importlib, pkgutil, sys
import kcore
assert kcore.__file__.startswith(sys.argv[1]), kcore.__file__
from kcore import Consumer
from kcore.embedded import EmbeddedBroker
extras = {"click", "confluent_kafka", "gevent", "gssapi", "pyspark", "pytest", "rich", "trio"}
modules = [found.name for found in pkgutil.walk_packages(kcore.__path__, "kcore.")]
assert len(modules) > 400
for name in modules:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        assert error.name in extras, (name, error)
with EmbeddedBroker() as broker:
    broker.create_topic("t", 1)
    broker.produce("t", [(b"key", b"value")] * 10)
    options = {"auto_offset_reset": "earliest", "bootstrap_servers": broker.bootstrap}
    with Consumer("t", **options) as consumer:
        assert sum(map(len, consumer.poll(timeout_ms=10_000).values())) == 10
"""


def run(*command, cwd):
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert not ran.returncode, ran.stdout[-2000:] + ran.stderr[-2000:]
    return ran.stdout


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A folder with an environment of its own (`bin/python`) that has nothing of this one."""
    folder = tmp_path_factory.mktemp("distribution")
    venv.create(folder, with_pip=True)
    return folder


@pytest.fixture(scope="module")
def wheel(fresh):
    """Built of the source archive alone, which is made of what is committed or about to be."""
    tree = fresh / "tree"
    for name in tracked():
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
    run(fresh / "bin/python", "-m", "pip", "install", "-q", "build", cwd=fresh)
    run(fresh / "bin/python", "-m", "build", "-o", fresh, tree, cwd=fresh)
    (wheel,) = fresh.glob("*.whl")
    return wheel


def tracked():
    return run("git", "ls-files", cwd=ROOT).splitlines()


def wanted():
    """The names in the wheel of all files of the packages."""
    for name in tracked():
        top, _, rest = name.partition("/")
        if top in PLACES and rest and Path(name).suffix not in LEFT_OUT:
            yield f"{PLACES[top]}/{rest}"


def test_the_wheel_has_every_file_of_the_packages(wheel):
    with zipfile.ZipFile(wheel) as archive:
        there = set(archive.namelist())
    assert sorted(set(wanted()) - there) == []
    sources = [name for name in tracked() if name.endswith(".pyx")]
    compiled = {
        f"{PLACES[top]}/{rest.removesuffix('.pyx')}"
        for top, _, rest in (name.partition("/") for name in sources)
        if top in PLACES
    }
    assert {name.partition(".")[0] for name in there if name.endswith(".so")} == compiled


def test_what_is_installed_works(fresh, wheel):
    """Every module can be imported without what only extras bring, and a record is read."""
    run(fresh / "bin/python", "-m", "pip", "install", "-q", wheel, cwd=fresh)
    run(fresh / "bin/python", "-I", "-c", USE_IT, fresh, cwd=fresh)


def test_the_command_says_what_it_lacks_and_has_it_then(fresh, wheel):
    run(fresh / "bin/python", "-m", "pip", "install", "-q", wheel, cwd=fresh)
    ran = subprocess.run([fresh / "bin/kcore"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "pip install 'kcore[cli]'" in ran.stderr
    run(fresh / "bin/python", "-m", "pip", "install", "-q", f"{wheel}[cli]", cwd=fresh)
    assert "consume" in run(fresh / "bin/kcore", "--help", cwd=fresh)
