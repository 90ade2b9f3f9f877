"""Answers with a byte or two that are wrong: an operation ends in its time, with a result or with
one of our errors.
"""

import random
from contextlib import suppress

import pytest
from scripted_admin import T0, T1, VERBS, admin_world

from kcore.admin.commits import Target, lag, reset_group_offsets
from kcore.admin.groups import describe_groups
from kcore.admin.hanging import find_hanging_transactions
from kcore.admin.quotas import QuotaAlteration, alter_client_quotas
from kcore.admin.shares import list_share_group_offsets
from kcore.admin.topics import describe_topic_partitions, describe_topics
from kcore.errors import KafkaError
from kcore.wire.apis import ApiKey

ROUNDS = 40
PROCEDURES = {
    **{api.stem: verb for api, verb in VERBS.items()},
    "describing groups": lambda: describe_groups(["g", "h"], operations=True),
    "describing topics": lambda: describe_topics(["t"]),
    "lag": lambda: lag("g", None, 0),
    "quotas": lambda: alter_client_quotas(
        [QuotaAlteration((("client-id", None), ("user", "u")), {"q": 1.0})],
        validate_only=False,
        raise_errors=True,
    ),
    "hanging": lambda: find_hanging_transactions(["t"], [1, 2], 0, 1 << 60),
    "pages": lambda: describe_topic_partitions(None, 5, None),
    "start offsets": lambda: list_share_group_offsets({"g": [T0], "h": None}),
    "lag of some": lambda: lag("g", [T0, T1], 0),
    "reset": lambda: reset_group_offsets(
        "g", {T0: Target(timestamp=-1), T1: Target(shift=-1)}, raise_errors=False
    ),
}


@pytest.mark.parametrize("name", PROCEDURES)
def test_an_answer_that_lies_breaks_nothing(name):
    _, _, client = admin_world(retry_backoff_ms=10)
    world = client.world
    rng = random.Random(name)
    chance = 0.5

    def garble(request, frame):
        if request.api_key == ApiKey.API_VERSIONS or rng.random() > chance:
            return frame
        body = bytearray(frame)
        for _ in range(rng.choice((1, 2, 8))):
            if len(body) > 9:  # behind its length and the correlation id
                body[rng.randrange(8, len(body))] = rng.choice(
                    (0, 1, 2, 127, 255, rng.randrange(256))
                )
        return bytes(body)

    world.garble = garble
    for _ in range(ROUNDS):
        with suppress(KafkaError):
            client.run(PROCEDURES[name](), 2_000)
    chance = 0
    client.run(PROCEDURES[name]())
