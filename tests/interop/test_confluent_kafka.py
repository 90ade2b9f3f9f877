"""Programs for confluent-kafka's clients see the same over ours, on a real Kafka and on the
embedded broker.
"""

import asyncio
import types

import confluent_kafka
import confluent_kafka.aio
import pytest
from support.confluent_aio import program
from support.confluent_scenarios import SCENARIOS

import kcore
from kcore.admin import NewTopic
from kcore.clients.stand_in.confluent.names import MODULES

pytestmark = pytest.mark.slow
OURS = types.SimpleNamespace(**MODULES["confluent_kafka"])
ON = [pytest.param("kafka", marks=pytest.mark.kafka), "kcore_broker"]


@pytest.mark.parametrize("on", ON)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_program_sees_the_same(scenario, on, request, names):
    where = request.getfixturevalue(on).bootstrap
    ours, theirs = f"{names.topic}-ours", f"{names.topic}-theirs"
    with kcore.Admin(bootstrap_servers=where) as admin:
        admin.create_topics([NewTopic(ours, 3, 1), NewTopic(theirs, 3, 1)])
    run = SCENARIOS[scenario]
    expected = run(confluent_kafka, where, theirs)
    assert run(OURS, where, ours) == expected


@pytest.mark.kafka
def test_a_program_of_serializing_clients_in_a_loop_sees_the_same(kafka, names):
    ours, theirs = f"{names.topic}-ours", f"{names.topic}-theirs"
    with kcore.Admin(bootstrap_servers=kafka.bootstrap) as admin:
        admin.create_topics([NewTopic(ours, 1, 1), NewTopic(theirs, 1, 1)])
    aio = types.SimpleNamespace(**MODULES["confluent_kafka.aio"])
    expected = asyncio.run(program(confluent_kafka.aio, kafka.bootstrap, theirs))
    assert asyncio.run(program(aio, kafka.bootstrap, ours)) == expected
