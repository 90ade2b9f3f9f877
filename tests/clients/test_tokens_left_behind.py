"""A provider of tokens that is asked when the loop it was asked in ends."""

import asyncio

from kcore import AsyncProducer
from kcore.embedded import EmbeddedBroker


def test_a_client_is_stopped_whose_loop_was_closed_under_a_provider():
    """Its tasks cannot be cancelled any more, and that left the client's sockets open."""

    class Sometimes:
        asked = None

        async def token(self):
            if self.asked is not None:
                self.asked.set()
                await asyncio.Event().wait()
            return "abc"

    async def begin(bootstrap):
        provider = Sometimes()
        producer = AsyncProducer(
            bootstrap_servers=bootstrap,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=provider,
        )
        await producer.start()
        provider.asked = asyncio.Event()
        producer._courier.core.handle_interrupted(producer._courier.now_ms())  # links are made anew
        producer._courier.turn_soon()
        await asyncio.wait_for(provider.asked.wait(), 10)
        return producer

    with EmbeddedBroker(
        security_protocol="SASL_PLAINTEXT", sasl_oauth_token_validator=lambda _: ("alice", None)
    ) as broker:
        loop = asyncio.new_event_loop()
        producer = loop.run_until_complete(begin(broker.bootstrap))
        pump = producer._courier._pump
        links = [*pump._links.values()]
        for task in pump._sasl._tasks.values():
            task._log_destroy_pending = False  # that it is, is the point
        loop.close()
        asyncio.run(producer.stop())
        assert links
        assert {link.sock.fileno() for link in links} == {-1}
