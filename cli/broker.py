"""`kcore broker`: an embedded broker in the foreground, until Ctrl-C."""

from __future__ import annotations

import signal
from contextlib import suppress

from kcore.cli.endings import DONE, RefusalError
from kcore.embedded import EmbeddedBroker


def serve(host: str, port: int, nodes: int) -> int:
    """Serve on `port` and those that follow (0: any free ones). RefusalError if one is taken."""
    broker = EmbeddedBroker(nodes, host=host, port=port)
    try:
        broker.start()
    except OSError as error:
        raise RefusalError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    try:
        print(f"serving on {broker.bootstrap}; in memory: Ctrl-C ends it all", flush=True)
        with suppress(KeyboardInterrupt):
            while True:
                signal.pause()
    finally:
        broker.stop()
    return DONE
