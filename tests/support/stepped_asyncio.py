"""Transports by name for the contract, asyncio's among them, which has no waiting of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kcore.transports import SocketOptions, Transport, create
from kcore.transports.asyncio_driver import AsyncioTransport


class SteppedAsyncio(AsyncioTransport):
    """Asyncio's under a pump that is stepped: each wait runs a loop of its own, until it rings."""

    def __init__(self, options: SocketOptions | None = None) -> None:
        super().__init__(options)
        self.loop = asyncio.new_event_loop()
        self.bind(self.loop, self.loop.stop)

    def wait(self, timeout_ms: int | None) -> Sequence[tuple[int, int]]:
        if timeout_ms is not None:
            alarm = self.loop.call_later(timeout_ms / 1000, self.loop.stop)
        try:
            self.loop.run_forever()
        finally:
            if timeout_ms is not None:
                alarm.cancel()
        return super().wait(0)

    def close(self) -> None:
        super().close()
        self.loop.close()


def make_transport(driver: str, options: SocketOptions | None = None) -> Transport:
    return SteppedAsyncio(options) if driver == "asyncio" else create(driver, options)
