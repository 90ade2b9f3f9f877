"""UnregisterController: who is struck off."""

import pytest
from broker_world import World

from kcore.broker import BrokerConfig
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E


@pytest.fixture
def pair():
    made = World(2, config=BrokerConfig(release=(4, 4)))
    yield made
    assert not made.faults


@pytest.mark.parametrize("asked", [1, 2])
@pytest.mark.parametrize(
    ("number", "code", "why"),
    [
        (1, E.INVALID_REQUEST, "Controller cannot unregister itself while it is active."),
        (2, E.NONE, ""),
        (3, E.CONTROLLER_ID_NOT_REGISTERED, "Controller ID 3 is not currently registered."),
        (-1, E.CONTROLLER_ID_NOT_REGISTERED, "Controller ID -1 is not currently registered."),
    ],
)
def test_as_a_kafka_answers(pair, asked, number, code, why):
    """Whichever node is asked: the first is the controller that leads."""
    answer = pair.client(asked).ask(m.UnregisterControllerRequest(controller_id=number))
    assert (answer.error_code, answer.error_message) == (code, why)


def test_it_is_not_there_before_kafka_4_4():
    world = World(config=BrokerConfig(release=(4, 3)))
    client = world.client()
    assert client.ask(m.UnregisterControllerRequest(controller_id=1)) is None
    assert client.closed
