"""Trio made to look like the part of asyncio's loop that the clients use; all are asked."""

import gc
import os
import random
import socket
import threading
import time

import anyloop
import pytest
import trio
from anyloop import EACH_LOOP, TRIO

from kcore.errors import IllegalStateError
from kcore.transports import loops, trio_loop

pytestmark = EACH_LOOP


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


async def settled(done):
    async with anyloop.timeout(10):
        while not done():
            await anyloop.sleep(0.001)


def test_none_runs():
    assert loops.running() is None
    with pytest.raises(RuntimeError):
        loops.here()


def test_it_is_one_loop_for_all(each_loop):
    async def main():
        loop = loops.here()
        assert loops.running() is loops.here() is loop
        assert isinstance(loop, trio_loop.TrioLoop) is (each_loop == "trio")
        assert loop.is_running()
        assert not loop.is_closed()
        return loop

    first, second = anyloop.run(main()), anyloop.run(main())
    assert first is not second
    assert first.is_closed()
    assert not first.is_running()


def test_calls_in_their_order():
    async def main():
        loop, made = loops.here(), []
        loop.call_soon(made.append, 1)
        loop.call_soon(made.append, 2).cancel()
        third = loop.call_soon(made.append, 3)
        loop.call_soon(lambda: loop.call_soon(made.append, 4))
        assert made == []
        await settled(lambda: len(made) == 3)
        third.cancel()  # late
        loop.call_soon_threadsafe(made.append, 5)
        await anyloop.to_thread(loop.call_soon_threadsafe, made.append, 6)
        await settled(lambda: len(made) == 5)
        assert made == [1, 3, 4, 5, 6]

    anyloop.run(main())


def test_calls_that_come_again_and_again_leave_others_their_turn():
    async def main():
        loop, over = loops.here(), []

        def again():
            if not over:
                loop.call_soon(again)

        again()
        async with anyloop.timeout(10):
            for _ in range(3):
                await anyloop.sleep(0)
        over.append(True)

    anyloop.run(main())


@TRIO
def test_calls_are_made_by_one_task(each_loop):
    async def main():
        for _ in range(3):
            loops.here()
        await trio.sleep(0)
        nurseries = trio.lowlevel.current_root_task().child_nurseries
        names = [task.name for nursery in nurseries for task in nursery.child_tasks]
        return [name for name in names if name == "kcore: calls"]

    assert len(anyloop.run(main())) == 1


def test_timers_in_their_order():
    async def main():
        loop, made = loops.here(), []
        began = anyloop.time()
        loop.call_later(0.03, made.append, 3)
        loop.call_later(0.02, made.append, 2).cancel()
        loop.call_later(0.01, made.append, 1)
        loop.call_later(0, lambda: loop.call_later(0, made.append, 0))
        await settled(lambda: len(made) == 3)
        assert made == [0, 1, 3]
        assert round(anyloop.time() - began, 3) >= 0.03

    anyloop.run(main())


def test_a_timer_that_is_due_before_all_others_ends_the_wait_for_them():
    """Set while the loop is idle; one that is due later changes nothing."""

    async def main():
        loop, made = loops.here(), []
        far = loop.call_later(3_600, made.append, "far")
        await anyloop.sleep(0.02)  # it waits for that one
        loop.call_later(0.02, made.append, "soon")
        later = loop.call_later(1_800, made.append, "later")
        await settled(lambda: made)
        assert made == ["soon"]
        far.cancel()
        later.cancel()

    anyloop.run(main())


@TRIO
def test_timers_are_in_order_behind_those_that_were_thrown_out(each_loop):
    rng = random.Random(5)

    async def main():
        loop, made = loops.here(), []
        for number in rng.sample(range(1_000), 1_000):
            timer = loop.call_later(number * 1e-5, made.append, number)
            if number % 8:
                timer.cancel()
        assert len(loop._timers) < 1_000
        alive = [(due, timer.args[0]) for due, _, timer in loop._timers if timer.call]
        time.sleep(0.02)  # all of them are due
        await settled(lambda: len(made) == 125)
        assert made == [number for _, number in sorted(alive)]

    anyloop.run(main())


@TRIO
def test_timers_that_were_cancelled_are_thrown_out(each_loop):
    """Each wait of a client has one, of a second, and most end before it."""

    async def main():
        loop, made = loops.here(), []
        kept = loop.call_later(0.05, made.append, "kept")
        for _ in range(5_000):
            loop.call_later(60, made.append, "never").cancel()
        assert len(loop._timers) < 300
        await settled(lambda: made)
        kept.cancel()  # late: it is not counted among those
        assert made == ["kept"]
        assert loop._dead <= len(loop._timers)

    anyloop.run(main())


def test_sockets(pair):
    ours, theirs = pair

    async def main():
        loop, got = loops.here(), []
        loop.add_reader(ours.fileno(), lambda: got.append(ours.recv(1)))
        await anyloop.sleep(0.01)
        assert got == []
        theirs.send(b"ab")  # what was not read is said again
        await settled(lambda: got == [b"a", b"b"])
        loop.add_reader(ours.fileno(), lambda: got.append(ours.recv(1).upper()))  # instead
        theirs.send(b"c")
        await settled(lambda: got[2:] == [b"C"])
        room = []

        def writable():
            room.append(True)
            loop.remove_writer(ours.fileno())  # within the call

        loop.add_writer(ours.fileno(), writable)
        await settled(lambda: room)
        await anyloop.sleep(0.01)
        assert room == [True]
        assert loop.remove_reader(ours.fileno()) is not False  # uvloop does not say
        assert not loop.remove_reader(ours.fileno())
        assert not loop.remove_writer(ours.fileno())
        theirs.send(b"d")
        await anyloop.sleep(0.01)
        assert got[3:] == []
        assert anyloop.watched() == 0

    anyloop.run(main())


@TRIO
def test_one_that_cannot_be_watched_is_called_once(each_loop, tmp_path):
    """Whoever uses it finds out what is wrong; to be called on would leave nobody else a turn."""

    async def main():
        loop, called = loops.here(), []
        with open(tmp_path / "file", "wb") as file:  # which epoll does not take
            loop.add_writer(file.fileno(), called.append, True)
            await settled(lambda: called)
            for _ in range(9):
                await anyloop.sleep(0.001)
            assert called == [True]
            assert loop.remove_writer(file.fileno())

    anyloop.run(main())


def test_one_that_nobody_watches_any_more_is_not_called():
    """Two are ready in one turn, and whichever comes first takes both back."""
    pairs = [socket.socketpair() for _ in range(2)]

    async def main():
        loop, called = loops.here(), []

        def fired(name):
            called.append(name)
            for ours, _ in pairs:
                loop.remove_reader(ours.fileno())

        for ours, theirs in pairs:
            loop.add_reader(ours.fileno(), fired, ours)
            theirs.send(b"x")
        await settled(lambda: called)
        await anyloop.sleep(0.01)
        assert len(called) == 1

    anyloop.run(main())
    for ours, theirs in pairs:
        ours.close()
        theirs.close()


def test_the_next_socket_of_the_same_number(pair):
    """Closed as soon as nobody watches it, in the middle of the call that it woke."""
    _, theirs = pair

    async def main():
        loop, got = loops.here(), []
        first, other = socket.socketpair()
        first.setblocking(False)
        number = first.fileno()
        made = []

        def swap():
            loop.remove_reader(number)
            first.close()
            copy = os.dup(pair[0].fileno())
            assert copy == number
            made.append(copy)
            loop.add_reader(copy, lambda: got.append(os.read(copy, 9)))

        loop.add_reader(number, swap)
        other.send(b"first")
        await settled(lambda: made)
        theirs.send(b"second")
        await settled(lambda: got)
        assert got == [b"second"]
        loop.remove_reader(number)
        os.close(number)
        other.close()

    anyloop.run(main())


def test_tasks():
    async def main():
        loop, ended = loops.here(), []
        ways = loops.ways_of(loop)

        async def work(name):
            assert ways.is_current(tasks[name])
            try:
                await anyloop.sleep(3_600 if name == "long" else 0)
            finally:
                ended.append(name)

        tasks = {name: ways.spawn(work, name) for name in ("short", "long")}
        assert not any(map(ways.is_current, tasks.values()))
        await settled(lambda: ended == ["short"])
        tasks["long"].cancel()
        await settled(lambda: ended == ["short", "long"])
        assert await loop.run_in_executor(None, threading.get_ident) != threading.get_ident()
        found = await loop.getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM)
        assert found[0][4] == ("127.0.0.1", 80)
        with pytest.raises(socket.gaierror):
            await loop.getaddrinfo("nowhere.invalid", 80, type=socket.SOCK_STREAM)

    anyloop.run(main())


@TRIO
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_what_is_raised_is_logged_and_the_others_go_on(each_loop, caplog, pair, kind):
    """It would end the whole program."""
    ours, theirs = pair

    async def main():
        loop, made = loops.here(), []
        ways = loops.ways_of(loop)

        def fail(what):
            made.append(what)
            raise kind(what)

        async def work():
            fail("work")

        ways.spawn(work)
        loop.call_soon(fail, "call")
        loop.call_later(0.001, fail, "timer")
        loop.add_reader(ours.fileno(), lambda: fail(ours.recv(1).decode()))
        theirs.send(b"r")
        await settled(lambda: sorted(made) == ["call", "r", "timer", "work"])
        theirs.send(b"s")  # it is watched still
        loop.call_soon(made.append, "next")
        await settled(lambda: len(made) == 6)
        loop.remove_reader(ours.fileno())
        loop.at_end(lambda: fail("end"))

    anyloop.run(main())
    said = [record for record in caplog.records if "failed under trio" in record.message]
    assert sorted(str(record.exc_info[1]) for record in said) == [
        "call", "end", "r", "s", "timer", "work",
    ]  # fmt: skip
    assert {type(record.exc_info[1]) for record in said} == {kind}


@TRIO
def test_to_be_cancelled_is_no_failure(each_loop, caplog):
    async def main():
        ways = loops.ways_of(loops.here())
        begun = []

        async def work(error):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                begun.append(error)
                try:
                    await trio.sleep_forever()
                finally:
                    if error is not None:
                        raise error

        tasks = [ways.spawn(work, error) for error in (None, KeyError("k"))]
        await settled(lambda: len(begun) == 2)
        for task in tasks:
            task.cancel()
        await anyloop.sleep(0.01)

    anyloop.run(main())
    (said,) = [record for record in caplog.records if "failed under trio" in record.message]
    assert "KeyError" in repr(said.exc_info[1])


@TRIO
def test_nobody_waits_for_a_thread_whose_answer_nobody_wants(each_loop):
    go, ended = threading.Event(), []

    async def main():
        loop = loops.here()

        async def work():
            try:
                await loop.run_in_executor(None, go.wait)
            finally:
                ended.append(True)

        task = loops.ways_of(loop).spawn(work)
        await anyloop.sleep(0.01)
        task.cancel()
        try:
            await settled(lambda: ended)
        finally:
            go.set()

    anyloop.run(main())


def test_limits():
    async def main():
        ways = loops.ways_of(loops.here())
        async with ways.timeout(10) as limit:
            await anyloop.sleep(0)
        assert not limit.expired()
        with pytest.raises(TimeoutError):
            async with ways.timeout(0.01) as limit:
                await anyloop.sleep(5)
        assert limit.expired()
        with pytest.raises(TimeoutError, match="another"):
            async with ways.timeout(10) as limit:
                raise TimeoutError("another")
        assert not limit.expired()

    anyloop.run(main())


def test_futures():
    async def main():
        loop, got, called = loops.here(), [], []
        ended, failed = loop.create_future(), loop.create_future()

        async def wait():
            got.append(await ended)

        waits = [anyloop.create_task(wait()) for _ in range(3)]
        await anyloop.sleep(0)
        ended.add_done_callback(called.append)
        ended.set_result("it")
        assert ended.done()
        assert got == called == []  # not within the call
        await anyloop.wait(waits)
        await settled(lambda: called)
        assert got == ["it"] * 3
        assert await ended == ended.result() == "it"
        failed.set_exception(KeyError("k"))
        for _ in range(2):
            with pytest.raises(KeyError):
                await failed
        assert isinstance(failed.exception(), KeyError)

    anyloop.run(main())


@TRIO
def test_a_future_ends_once(each_loop):
    async def main():
        future = loops.here().create_future()
        future.set_result(1)
        with pytest.raises(IllegalStateError):
            future.set_result(2)
        return loops.here().create_future()

    future = anyloop.run(main())
    future.set_result(3)  # its loop is over: nobody hears it
    assert future.result() == 3

    async def elsewhere():
        other = await trio.to_thread.run_sync(lambda: future)
        assert await other == 3
        await trio_loop.TrioFuture(future._loop)

    with pytest.raises(RuntimeError, match=r"another trio\.run"):
        anyloop.run(elsewhere())


@TRIO
def test_who_waits_for_a_future_may_go_away(each_loop):
    async def main():
        future, got = loops.here().create_future(), []

        async def wait():
            got.append(await future)

        stays = anyloop.create_task(wait())
        with trio.move_on_after(0.01) as scope:
            await future
        assert scope.cancelled_caught
        future.set_result("it")
        await anyloop.wait([stays])
        assert got == ["it"]

    anyloop.run(main())


@TRIO
def test_a_future_as_asyncios(each_loop, caplog):
    async def main():
        loop, called = loops.here(), []
        future = loop.create_future()
        assert future.cancelled() is False
        for ask in (future.result, future.exception):
            with pytest.raises(IllegalStateError, match="not ended yet"):
                ask()
        again = lambda told: called.append(("again", told))  # noqa: E731
        for call in (again, called.append, again):
            future.add_done_callback(call)
        assert future.remove_done_callback(again) == 2
        assert future.remove_done_callback(again) == 0
        future.set_exception(KeyError("seen"))
        await settled(lambda: called)
        future.add_done_callback(again)  # it has ended: soon
        assert called == [future]
        await settled(lambda: len(called) > 1)
        assert called == [future, ("again", future)]
        assert repr(future.exception()) == "KeyError('seen')"
        called.clear()
        del future
        loop.create_future().set_exception(KeyError("unseen"))

    anyloop.run(main())
    gc.collect()
    (record,) = [one for one in caplog.records if one.name == "kcore.transports"]
    assert "nobody has looked" in record.message
    assert repr(record.exc_info[1]) == "KeyError('unseen')"


@TRIO
def test_the_end_is_told(each_loop):
    told = []

    async def main():
        loop = loops.here()
        gone = lambda: told.append("not me")  # noqa: E731
        loop.at_end(gone)
        loop.not_at_end(gone)
        loop.at_end(lambda: 1 / 0)
        loop.at_end(lambda: told.append(loop.is_closed()))
        return loop

    loop = anyloop.run(main())
    assert told == [False]
    assert loop.is_closed()
    with pytest.raises(RuntimeError):
        loop.call_soon_threadsafe(told.append, "late")


@TRIO
def test_what_waits_at_the_end_is_let_in(each_loop):
    """`see_out`, of what ends by itself, by an error, and too late."""

    async def main(ended):
        ways = loops.ways_of(loops.here())

        async def some(seconds, outcome=None):
            await trio.sleep(seconds)
            ended.append(seconds)
            if outcome:
                raise outcome
            return "done"

        assert await ways.see_out(lambda: some(0)) == "done"
        with pytest.raises(KeyError):
            await ways.see_out(lambda: some(0, KeyError("k")))
        with trio.move_on_after(0.01) as scope:
            await ways.see_out(lambda: some(0.1))
        assert scope.cancelled_caught
        assert ended == [0, 0, 0.1]
        trio_loop.LAST_WORDS_S = 0.05
        with trio.move_on_after(0.01) as scope:
            await ways.see_out(lambda: some(60))
        assert scope.cancelled_caught
        assert ended == [0, 0, 0.1]

    before = trio_loop.LAST_WORDS_S
    try:
        anyloop.run(main([]))
    finally:
        trio_loop.LAST_WORDS_S = before
