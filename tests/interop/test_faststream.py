"""FastStream, which imports aiokafka or confluent-kafka by itself, over kcore: an application in a
process of its own, on a real Kafka and on the embedded broker.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import kcore
from kcore.admin import NewTopic

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).parent.parent / "support" / "faststream_program.py"
USED = {
    "aiokafka": "AsyncConsumer",
    "confluent-kafka": "kcore.clients.stand_in.confluent.consumer",
}
KINDS = ("orders", "echoes", "batches", "hand", "again")


@pytest.mark.parametrize("client", USED)
@pytest.mark.parametrize("on", [pytest.param("kafka", marks=pytest.mark.kafka), "kcore_broker"])
def test_an_application_notices_nothing(on, client, request, names):
    where = request.getfixturevalue(on).bootstrap
    if client != "aiokafka":  # under that the brokers make them
        with kcore.Admin(bootstrap_servers=where) as admin:
            admin.create_topics([NewTopic(f"{names.topic}-{kind}", 1, 1) for kind in KINDS])
    done = subprocess.run(
        [sys.executable, str(PROGRAM), client, where, names.topic],
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    seen = told["seen"]
    assert sorted(seen["orders"]) == [[number, "o"] for number in range(20)]
    assert sorted(seen["echoes"]) == [*range(20)]
    assert sorted(seen["batches"]) == [1, 2, 3]
    assert (seen["by hand"], seen["again"]) == (["hello"], ["hello", "hello"])
    assert told["used"] == [USED[client]]
