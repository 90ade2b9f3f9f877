"""The asynchronous clients in loops that others have made, and in what others have made of
asyncio's own: what docs/ASYNC.md lists. What they promise on any loop is asked in test_async_*.py,
of uvloop too.
"""

import asyncio
import subprocess
import sys

import pytest
import uvloop
from descriptors import descriptors, wait_for_descriptors
from loop_program import LOOPS, program

import kcore
from kcore import errors
from kcore.embedded import EmbeddedBroker

EAGER = ["eager"] if sys.version_info >= (3, 12) else []


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(security_protocol="SSL") as embedded:
        yield embedded


def eager():
    loop = asyncio.new_event_loop()
    loop.set_task_factory(asyncio.eager_task_factory)
    return loop


@pytest.mark.parametrize("kind", ["debug", "uvloop", *EAGER])
def test_all_clients(broker, kind):
    uvloop.run(asyncio.sleep(0))  # the first one of a process leaves a pipe for signals
    before = descriptors()
    make = {"uvloop": uvloop.new_event_loop, "eager": eager}.get(kind)
    with asyncio.Runner(loop_factory=make, debug=kind == "debug") as runner:
        runner.run(program(broker.bootstrap, broker.ssl_cafile, kind))
    wait_for_descriptors(before)


@pytest.mark.parametrize(
    "loop",
    [
        one if one in ("tornado", "twisted") else pytest.param(one, marks=pytest.mark.slow)
        for one in LOOPS
    ],
)
def test_all_clients_in_a_process_of_its_own(pytestconfig, broker, loop):
    script = pytestconfig.rootpath / "tests" / "support" / "loop_program.py"
    command = [sys.executable, "-Werror", script, loop, broker.bootstrap, broker.ssl_cafile, loop]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout) == (0, "all of it\n"), run.stderr


# Loops that cannot --------------------------------------------------------------------------------


class Blind(asyncio.SelectorEventLoop):
    """One that watches no sockets of others, as those of Windows and of Qt are."""

    def add_reader(self, *_):
        raise NotImplementedError

    add_writer = remove_reader = remove_writer = add_reader


CLIENTS = {
    "consumer": lambda **options: kcore.AsyncConsumer("t", **options),
    "share consumer": lambda **options: kcore.AsyncShareConsumer("t", group_id="g", **options),
    "producer": kcore.AsyncProducer,
    "admin": kcore.AsyncAdmin,
}
NOWHERE = {"bootstrap_servers": "127.0.0.1:1"}


@pytest.mark.parametrize("kind", CLIENTS)
def test_one_that_watches_no_sockets_is_named(kind):
    before = descriptors()

    async def main():
        with pytest.raises(errors.UsageError, match=r"Blind.*add_reader"):
            async with CLIENTS[kind](**NOWHERE):
                pass

    with asyncio.Runner(loop_factory=Blind) as runner:
        runner.run(main())
    wait_for_descriptors(before)


# One loop after the other, as tests have it that get one each -------------------------------------

CALLS = {
    "consumer": lambda client: client.getone(),
    "share consumer": lambda client: client.getone(),
    "producer": lambda client: client.send("t", b"v"),
    "admin": lambda client: client.list_topics(),
}


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_of_a_loop_that_is_closed_says_so(broker, kind, make_loop):
    uvloop.run(asyncio.sleep(0))
    before = descriptors()
    secure = {"security_protocol": "SSL", "ssl_cafile": broker.ssl_cafile}
    client = CLIENTS[kind](bootstrap_servers=broker.bootstrap, **secure)
    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(client.start())

    async def later():
        with pytest.raises(errors.ConcurrentUseError, match=f"the {kind.split()[-1]} .*is closed"):
            await CALLS[kind](client)
        await (client.close() if kind == "admin" else client.stop())

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(later())
    wait_for_descriptors(before)
