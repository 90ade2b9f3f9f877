"""What runs on the side, and how it is told to end."""

import threading

import gevent

from kcore.transports.background import make_event, run_aside


def test_what_runs_aside_ends_when_told_and_stays_ended():
    looks, ended = [], threading.Event()

    def work(stop, word):
        looks.append((word, threading.current_thread().name, stop.wait(0)))
        looks.append(stop.wait(0.001))
        looks.append(stop.wait())
        looks.append(stop.wait(0))
        ended.set()

    stop = run_aside("blocking", "aside", work, "word")
    stop.set()
    stop.set()
    assert ended.wait(10)
    assert looks[-2:] == [True, True]
    assert looks[0][:2] == ("word", "aside")
    assert stop.wait()


def test_nothing_ends_before_it_is_told():
    looks, ended = [], threading.Event()

    def work(stop):
        looks.extend([stop.wait(0), stop.wait(0.001)])
        ended.set()

    stop = run_aside("blocking", "aside", work)
    assert ended.wait(10)
    assert looks == [False, False]
    stop.set()


def test_who_waits_again_behind_a_bell_that_was_cleared_waits():
    for kind in ("blocking", "gevent"):
        bell = make_event(kind)
        bell.set()
        assert bell.wait(10)
        bell.clear()
        bell.clear()
        assert not bell.wait(0.001)
        bell.set()
        assert bell.wait(10)


def test_other_greenlets_run_while_one_waits_for_its_bell():
    bell = make_event("gevent")
    ringer = gevent.spawn(bell.set)
    assert bell.wait(10)
    ringer.join()
