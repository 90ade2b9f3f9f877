"""What breaks a wait, from other threads."""

import os
import select

import pytest

from kcore.transports.waker import Waker


@pytest.fixture
def waker():
    waker = Waker()
    yield waker
    waker.close()


def is_readable(waker):
    return bool(select.select([waker.fd], [], [], 0)[0])


def test_it_is_readable_from_the_first_wake_until_it_is_taken(waker):
    assert not is_readable(waker)
    assert waker.take() is False
    waker.wake()
    waker.wake()
    assert is_readable(waker)
    assert waker.take() is True
    assert not is_readable(waker)


def test_one_that_was_closed_is_woken_in_silence_and_its_descriptor_is_free(waker):
    fd = waker.fd
    waker.close()
    waker.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
    assert waker.fd == -1
    waker.wake()


def test_who_wakes_one_that_is_closed_meanwhile_writes_to_no_other(waker, monkeypatch):
    """Its number was free, and eight bytes went into the next socket that was opened."""
    write, fd = os.eventfd_write, waker.fd
    opened = []

    def interrupted(*given):
        waker.close()  # another thread has its turn before the write
        opened.append(os.eventfd(0, os.EFD_NONBLOCK))
        write(*given)

    monkeypatch.setattr(os, "eventfd_write", interrupted)
    waker.wake()
    with pytest.raises(BlockingIOError):
        os.eventfd_read(opened[0])
    os.close(opened[0])
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_woken_as_often_as_can_be_counted_it_is_woken(waker):
    os.eventfd_write(waker.fd, 2**64 - 2)
    waker.wake()
    assert waker.take() is True


def test_without_a_descriptor_there_is_none(monkeypatch):
    def fail(*_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "eventfd", fail)
    with pytest.raises(OSError, match="Too many open files"):
        Waker()
