"""Files as a store needs them: appended to, cut, replaced in one step, made to last when told to.

Everything goes to the system at once (`write`, not a buffer of this process), so a process that is
killed loses nothing it has answered for. `flush` is about the machine: a power cut loses what was
not synced. It is "never" (the system decides), "always" (before anything is answered) or every so
many ms.
"""

from __future__ import annotations

import errno
import logging
import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Final

from kcore.errors import KafkaError, UsageError

NEVER: Final = "never"
ALWAYS: Final = "always"
_log = logging.getLogger(__name__)

# What to do about a folder that cannot be used.
_CURES: Final = {
    errno.EACCES: "let this user write there",
    errno.EPERM: "let this user write there",
    errno.EROFS: "its file system is read-only",
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room there",
    errno.EEXIST: "that is a file",
    errno.ENOTDIR: "a part of it is a file",
    errno.EISDIR: "what is to be a file there is a directory",
    errno.ENOENT: "somebody removes it",
}

# Descriptors kept open; a topic has one a replica, and a process a thousand or so.
OPEN_MAX: Final = 200


class StorageError(KafkaError):
    """The folder cannot be used; or a file could not be written: nothing is taken in any more, as a
    part of it may be missing.
    """


def unusable(folder: Path, error: OSError) -> StorageError:
    """What is to be raised because a folder cannot be begun with."""
    what = error.strerror or str(error)
    where = "" if error.filename in {None, str(folder)} else f" ({error.filename})"
    cure = _CURES.get(error.errno or 0)
    fix = "give another directory" if cure is None else f"{cure}, or give another directory"
    if error.errno in {errno.EROFS, errno.EEXIST, errno.ENOTDIR}:
        fix = f"{cure}: give another directory"
    return StorageError(f"the directory {folder} cannot be used: {what}{where}: {fix}")


def flush_of(flush: str | int) -> str | int:
    """What was asked for, if there is such a thing. UsageError."""
    if (type(flush) is int and flush > 0) or (type(flush) is str and flush in {NEVER, ALWAYS}):
        return flush
    raise UsageError(f"flush={flush!r} is neither never, always nor a number of ms")


class Disk:
    """All files of one store, in this folder. After the first error, which is logged, every write
    is refused: StorageError. That a file was deleted under us is one.
    """

    def __init__(self, flush: str | int = NEVER, folder: Path | None = None) -> None:
        self.flush = flush_of(flush)
        self._folder = folder
        self._open: OrderedDict[Path, int] = OrderedDict()
        self._unsynced: dict[Path, None] = {}
        self._error: OSError | None = None

    @property
    def failed(self) -> bool:
        """Whether every write is refused."""
        return self._error is not None

    @property
    def dirty(self) -> bool:
        """Whether something waits to be synced."""
        return bool(self._unsynced)

    def append(self, path: Path, data: bytes) -> None:
        """Write at the end of a file, which is made if it is not there."""
        self._check()
        try:
            fd = self._descriptor(path)
            if not os.fstat(fd).st_nlink:  # a microsecond, of the fifty that a batch takes
                raise FileNotFoundError(errno.ENOENT, "deleted by somebody else", str(path))
            written = os.write(fd, data)
            while written < len(data):
                written += os.write(fd, memoryview(data)[written:])
        except OSError as error:
            self._fail(error)
        self._touch(path)

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file."""
        self._check()
        try:
            os.ftruncate(self._descriptor(path), size)
        except OSError as error:
            self._fail(error)
        self._touch(path)

    def replace(self, path: Path, data: bytes) -> None:
        """Put a file in the place of another, or of none: whole, or not at all."""
        self._check()
        aside = path.with_name(path.name + ".new")
        try:
            with aside.open("wb") as out:
                out.write(data)
                out.flush()
                if self.flush != NEVER:
                    os.fsync(out.fileno())
            self._close(path)
            aside.replace(path)
        except OSError as error:
            self._fail(error)
        self._touch(path.parent)

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        self._check()
        self._close(path)
        self._unsynced.pop(path, None)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            self._fail(error)
        self._touch(path.parent)

    def make_folder(self, path: Path) -> None:
        """Make a folder and those above it."""
        self._check()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._fail(error)
        self._touch(path.parent)

    def sync(self) -> None:
        """Have everything that was written last. After an error that is said once: nothing that is
        asked for later has anything to do with what was written before.
        """
        try:
            self._check()
            for path in self._unsynced:
                known = self._open.get(path)
                if known is not None:
                    _sync_data(known)
                elif path.exists():
                    _sync(path)
        except OSError as error:
            self._fail(error)
        finally:  # and not before: another thread may look at `dirty`
            self._unsynced = {}

    def close(self) -> None:
        """Sync, unless that is never done, and let go of everything. Idempotent."""
        if self._unsynced and self._error is None:
            with suppress(StorageError):
                self.sync()
        for path in list(self._open):
            self._close(path)

    def forked(self) -> None:
        """In the child of a fork: these descriptors are the parent's to use."""
        self._unsynced.clear()
        self.close()

    def _descriptor(self, path: Path) -> int:
        fd = self._open.get(path)
        if fd is not None:
            self._open.move_to_end(path)
            return fd
        is_new = not path.exists()
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._open[path] = fd
        if is_new:
            self._touch(path.parent)
        while len(self._open) > OPEN_MAX:
            self._close(next(iter(self._open)))
        return fd

    def _touch(self, path: Path) -> None:
        if self.flush != NEVER:
            self._unsynced[path] = None

    def _close(self, path: Path) -> None:
        fd = self._open.pop(path, None)
        if fd is not None:
            os.close(fd)

    def _check(self) -> None:
        if self._error is not None:
            raise StorageError(self._why())

    def _fail(self, error: OSError) -> None:
        self._error = error
        with suppress(Exception):  # of who reads the log: no reason to go on
            _log.error("%s", self._why())
        raise StorageError(self._why()) from error

    def _why(self) -> str:
        where = "the store" if self._folder is None else f"the directory {self._folder}"
        return (
            f"{where} has failed: {self._error}; nothing is written any more before the broker is "
            "started anew"
        )


def _sync_data(fd: int) -> None:
    getattr(os, "fdatasync", os.fsync)(fd)  # macOS has no call for the data alone


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
