"""Programs for confluent-kafka's clients see the same over ours, on a real Kafka and on the
embedded broker.
"""

import types

import confluent_kafka
import pytest
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
