"""The lifespan of docs/RECIPES.md in a Starlette that a uvicorn serves, by itself on uvloop."""

import os
import signal
import socket
import subprocess
import sys
import time
from urllib.request import Request, urlopen

import pages
import pytest

import kcore
from kcore.embedded import EmbeddedBroker

APPLICATION = """
import asyncio

import uvloop
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

handled = []


async def handle(record):
    handled.append(record.value)


{lifespan}


async def post(request):
    assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
    sent = await request.app.state.producer.send_and_wait("flights", await request.body())
    while len(handled) <= sent.offset:
        await asyncio.sleep(0.01)
    return PlainTextResponse(handled[-1])


app = Starlette(lifespan=lifespan, routes=[Route("/", post, methods=["POST"])])
"""


def post(address, body):
    end = time.monotonic() + 30
    while True:
        try:
            with urlopen(Request(address, body), timeout=30) as answer:
                return answer.read()
        except ConnectionError:
            pass
        except OSError as error:  # urllib's, around one
            if not isinstance(getattr(error, "reason", None), ConnectionError):
                raise
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    "ends", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_lifespan(tmp_path, ends):
    (block,) = [code for code in pages.python("docs/RECIPES.md") if "def lifespan" in code]
    with EmbeddedBroker() as broker, socket.create_server(("127.0.0.1", 0)) as listener:
        broker.create_topic("flights", 1)
        lifespan = block.replace("localhost:9092", broker.bootstrap)
        (tmp_path / "application.py").write_text(APPLICATION.format(lifespan=lifespan))
        fd = listener.fileno()
        command = [sys.executable, "-Werror", "-m", "uvicorn", "application:app", f"--fd={fd}"]
        server = subprocess.Popen(
            command, cwd=tmp_path, pass_fds=[fd], stderr=subprocess.PIPE, text=True
        )
        try:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
            assert [post(address, b"%d" % number) for number in range(3)] == [b"0", b"1", b"2"]
            os.kill(server.pid, ends)
            _, said = server.communicate(timeout=30)
        finally:
            server.kill()
            server.wait()
        assert "Application shutdown complete." in said, said
        assert "Warning" not in said
        assert "Traceback" not in said
        assert server.returncode in (0, -ends), said
        with kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
            (group,) = admin.describe_consumer_groups(["web"])
            assert group["members"] == []
