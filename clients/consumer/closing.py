"""The end of a consumer, within its time: commit, listener, leave, connections, keeper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from kcore.clients.consumer.rebalance import Bridge
from kcore.clients.engine import Engine
from kcore.clients.log import Log
from kcore.clients.owned import close_all
from kcore.errors import KafkaError
from kcore.hints import TYPE_CHECKING, Any, Protocol
from kcore.structs import GroupMembershipOperation, OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from kcore.consumer.config import ConsumerConfig

log = Log("kcore.consumer")


def close_engine(
    engine: Engine,
    bridge: Bridge,
    settings: ConsumerConfig,
    unfinished: Mapping[TopicPartition, OffsetAndMetadata] | None,
    *,
    autocommit: bool,
    operation: GroupMembershipOperation,
    timeout_ms: float,
) -> None:
    """Close the core in `timeout_ms`, then everything else, whatever the core has managed; but who
    is struck meanwhile (Ctrl-C) may call again, and until then nothing is released.

    unfinished: positions of a loop that was left in the middle of a batch; they, and not the
    core's, are what may be committed. Raises what a rebalance listener raised, when all is closed.
    """
    until = engine.pump.now_ms() + timeout_ms
    autocommit = autocommit and settings.enable_auto_commit
    with ending(engine, settings):
        if bridge.inside:
            bridge.abandon()
        if autocommit and unfinished:
            _commit(engine, unfinished, until)
            autocommit = False
        _close_core(engine, bridge, until, autocommit=autocommit, operation=operation)


@contextmanager
def ending(engine: Engine, settings: Deserializers) -> Iterator[None]:
    """Around the last that a consumer does: everything is released behind it, but if it is struck
    from outside (Ctrl-C): who is may call again.
    """
    over = False
    try:
        engine.recover()
        yield
        over = True
    except Exception:
        over = True
        raise
    finally:
        engine.guard.bar()
        if over:
            release(engine, settings)


class Deserializers(Protocol):
    """The options that may have something to close."""

    @property
    def key_deserializer(self) -> Any:
        """As the user gave it."""

    @property
    def value_deserializer(self) -> Any:
        """As the user gave it."""


def release(engine: Engine, settings: Deserializers) -> None:
    """Refuse all calls, close all sockets, then what is the user's. Raises what a deserializer
    raises, when all is closed.
    """
    if engine.released:
        return  # a listener, or a callback, of this close has closed once more
    engine.guard.bar()
    engine.rebalances.clear()
    engine.released = True
    engine.pump.close()
    close_all([settings.key_deserializer, settings.value_deserializer], engine.interceptors)


def _commit(
    engine: Engine, unfinished: Mapping[TopicPartition, OffsetAndMetadata], until: float
) -> None:
    left = engine.left(until)
    mine = engine.core.assignment()  # never commit for what has gone meanwhile
    offsets = {
        **engine.core.consumed_offsets(),
        **{tp: at for tp, at in unfinished.items() if tp in mine},
    }
    operation = engine.core.commit(offsets, engine.pump.now_ms(), int(left))
    future = engine.later(operation, engine.told(None), offsets)
    engine.wait(lambda: future.is_done, left, interruptible=False)
    if future.exception is not None:
        log.warning("the commit at close failed: %s", future.exception)
    elif not future.is_done:
        log.warning("the commit at close was not answered in time")


def _close_core(
    engine: Engine,
    bridge: Bridge,
    until: float,
    *,
    autocommit: bool,
    operation: GroupMembershipOperation,
) -> None:
    raised: Exception | None = None
    left = engine.left(until)
    engine.core.close(engine.pump.now_ms(), int(left), autocommit=autocommit, operation=operation)

    def done() -> bool:
        nonlocal raised
        try:
            bridge.serve()
        except KafkaError as error:
            raised = raised or error
        return engine.closing is not None

    engine.wait(done, left, interruptible=False)
    with suppress(KafkaError):
        engine.pump.drain()  # the last words: leaving the group, closing fetch sessions
    with suppress(Exception):
        engine.run_callbacks()
    if raised is not None:
        raise raised
