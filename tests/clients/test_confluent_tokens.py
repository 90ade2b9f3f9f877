"""oauth_cb: tokens are renewed when most of their life is over, whether anybody polls or not."""

import gc
import threading
import time
import types

import confluent_kafka
import pytest

from kcore.clients.stand_in.confluent.names import MODULES
from kcore.clients.stand_in.confluent.tokens import TokenProvider

OURS = types.SimpleNamespace(**MODULES["confluent_kafka"])
BOTH = pytest.mark.parametrize("library", [OURS, confluent_kafka], ids=["ours", "theirs"])


class Giver:
    """Gives tokens that are good for `life_s`; each call is noted, failing fails."""

    def __init__(self, life_s):
        self.life_s = life_s
        self.failing = False
        self.calls = []
        self.threads = set()

    def __call__(self, config):
        self.calls.append((time.monotonic(), config))
        self.threads.add(threading.current_thread())
        if self.failing:
            raise LookupError("no identity provider")
        return f"token-{len(self.calls)}", time.time() + self.life_s


def conf(giver, **more):
    return {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.config": "what it is told",
        "oauth_cb": giver,
        **more,
    }


def wait(done, limit_s=15):
    until = time.monotonic() + limit_s
    while not done() and time.monotonic() < until:
        time.sleep(0.05)
    assert done()


@BOTH
@pytest.mark.parametrize("kind", ["Producer", "Consumer", "AdminClient"])
def test_it_is_asked_again_before_a_token_ends(library, kind):
    giver = Giver(4)
    if kind == "AdminClient":
        admin = confluent_kafka.admin if library is confluent_kafka else None
        make = admin.AdminClient if admin else MODULES["confluent_kafka.admin"]["AdminClient"]
    else:
        make = getattr(library, kind)
    client = make(conf(giver, **({"group.id": "g"} if kind == "Consumer" else {})))
    if kind == "AdminClient" and library is confluent_kafka:
        client.poll(0)
    wait(lambda: len(giver.calls) >= 2)
    assert 3 <= giver.calls[1][0] - giver.calls[0][0] <= 5.5
    assert {config for _, config in giver.calls} == {"what it is told"}
    if hasattr(client, "close"):
        client.close()


def test_nobody_is_asked_for_a_client_that_is_closed_or_dropped():
    givers = [Giver(0.5), Giver(0.5), Giver(0.5)]
    with OURS.Consumer(conf(givers[0], **{"group.id": "g"})):
        pass
    OURS.Producer(conf(givers[1])).close()
    OURS.ShareConsumer(conf(givers[2], **{"group.id": "g"})).close()
    counts = [len(giver.calls) for giver in givers]
    time.sleep(1.2)
    assert [len(giver.calls) for giver in givers] == counts
    admin = MODULES["confluent_kafka.admin"]["AdminClient"](conf(Giver(60)))
    del admin
    wait(lambda: (gc.collect(), not names("kcore-oauth"))[1])


def names(wanted):
    return [one for one in threading.enumerate() if one.name == wanted]


def test_what_is_wrong_is_told_while_the_last_token_is_good_and_again_tried():
    giver, told = Giver(1), []
    consumer = OURS.Consumer(conf(giver, **{"group.id": "g", "error_cb": told.append}))
    giver.failing = True
    wait(lambda: len(giver.calls) >= 2)
    assert consumer.poll(0) is None
    until = time.monotonic() + 5
    wanted = OURS.KafkaError._AUTHENTICATION
    while wanted not in [one.code() for one in told] and time.monotonic() < until:
        consumer.poll(0.1)
    (said,) = [one.str() for one in told if one.code() == wanted]
    assert "oauth_cb" in said
    assert "no identity provider" in said
    consumer.close()


@pytest.mark.parametrize("expiry", [float("nan"), 0, "5"])
def test_a_first_token_whose_life_is_over_is_none(expiry):
    calls = []

    def give(config):
        calls.append(config)
        return "token", expiry

    with pytest.raises(OURS.KafkaException, match="it expires at"):
        OURS.Producer(conf(give))
    assert len(calls) == 1


@pytest.mark.parametrize("expiry", [float("nan"), 0])
def test_one_whose_life_is_over_renews_none_and_nothing_spins(expiry):
    giver, told = Giver(1), []
    consumer = OURS.Consumer(conf(giver, **{"group.id": "g", "error_cb": told.append}))
    giver.life_s = expiry - time.time()
    wait(lambda: len(giver.calls) >= 2)
    time.sleep(0.5)
    assert len(giver.calls) == 2
    consumer.poll(0.1)
    (said,) = [e.str() for e in told if e.code() == OURS.KafkaError._AUTHENTICATION]
    assert "it expires at" in said
    consumer.close()


def test_extensions_are_those_of_the_token_that_was_given():
    """They are asked for behind it, and it may have been renewed in between."""
    given = iter("abc")

    def give(_config):
        name = next(given)
        return name, time.time() + 0.2, "", {"of": name}

    provider = TokenProvider(give, "", None)
    assert provider.token() == "a"
    wait(lambda: provider.due_in() > 0 and provider._last.value == "b")
    assert provider.extensions() == {"of": "a"}
    assert (provider.token(), provider.extensions()) == ("b", {"of": "b"})
    provider.close()
