"""What breaks a wait, from other threads."""

import os
import select

import pytest

from kcore.transports.waker import Waker


@pytest.fixture(params=["eventfd", "pipe"], autouse=True)
def kind(request, monkeypatch):
    if request.param == "pipe":
        monkeypatch.delattr(os, "eventfd", raising=False)
    return request.param


@pytest.fixture
def waker():
    waker = Waker()
    yield waker
    waker.close()


def is_readable(waker):
    return bool(select.select([waker.fd], [], [], 0)[0])


def open_descriptors():
    return set(os.listdir("/proc/self/fd"))


def test_it_is_readable_from_the_first_wake_until_it_is_taken(waker):
    assert not is_readable(waker)
    assert waker.take() is False
    waker.wake()
    waker.wake()
    assert is_readable(waker)
    assert waker.take() is True
    assert not is_readable(waker)
    assert waker.take() is False


def test_one_that_was_closed_is_woken_in_silence_and_its_descriptor_is_free():
    before = open_descriptors()
    waker = Waker()
    fd = waker.fd
    waker.close()
    waker.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
    assert open_descriptors() == before
    assert waker.fd == -1
    waker.wake()


def test_who_wakes_one_that_is_closed_meanwhile_writes_to_no_other(waker, monkeypatch):
    """Its number was free, and eight bytes went into the next socket that was opened."""
    write, fd = os.write, waker.fd
    opened = []

    def interrupted(*given):
        waker.close()  # another thread has its turn before the write
        opened.append(os.memfd_create("other"))
        return write(*given)

    monkeypatch.setattr(os, "write", interrupted)
    waker.wake()
    monkeypatch.undo()
    assert os.fstat(opened[0]).st_size == 0
    os.close(opened[0])
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_woken_as_often_as_can_be_counted_it_is_woken(waker, kind):
    if kind == "eventfd":
        os.write(waker.fd, (2**64 - 2).to_bytes(8, "little"))
    for _ in range(20_000):
        waker.wake()
    assert waker.take() is True
    assert waker.take() is False
    assert not is_readable(waker)
    waker.wake()
    assert is_readable(waker)


@pytest.mark.parametrize("wakes", [511, 512, 513])
def test_a_full_read_is_not_taken_for_the_end(waker, wakes):
    for _ in range(wakes):
        waker.wake()
    assert waker.take() is True
    assert not is_readable(waker)


def test_the_child_of_an_exec_does_not_inherit_it(waker):
    assert not os.get_inheritable(waker.fd)


def test_without_a_descriptor_there_is_none(monkeypatch, kind):
    def fail(*_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, kind, fail)
    with pytest.raises(OSError, match="Too many open files"):
        Waker()
