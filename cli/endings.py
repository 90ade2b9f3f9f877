"""How every verb ends: its exit code, and lines on standard error instead of a traceback: one for
each thing that is wrong.

0 done (also when the reader of a pipe has had enough), 1 Kafka or the environment refused, 2 the
command line is wrong, 129 the terminal is gone, 130 Ctrl-C, 143 asked to end.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import BinaryIO, Final

from kcore.errors import BrokerResponseError, KafkaConfigurationError, KafkaError

DONE: Final = 0
REFUSED: Final = 1
MISUSED: Final = 2
INTERRUPTED: Final = 128 + signal.SIGINT
_NAMED: Final = 5  # of those that one thing is wrong with
HOLDABLE: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


class RefusalError(RuntimeError):
    """What was asked for cannot be done here; the text tells the user why."""


class Attempts:
    """Several things, of which each is tried: what is wrong with some is said when all were, on a
    line of its own. What is wrong with many alike (a partition that they read has no leader) is
    said once.
    """

    def __init__(self) -> None:
        self._wrong: list[tuple[Exception, str]] = []

    @contextmanager
    def one(self) -> Iterator[None]:
        """What is refused within is noted. What nobody has said of one thing alone (there is no
        time, or no way to ask) is raised, with what was noted before: it would be so of all others.
        """
        try:
            yield
        except (BrokerResponseError, RefusalError) as error:
            self.note(error)
        except KafkaError as error:
            self.note(error)
            self.check()

    def note(self, error: Exception, of: str = "") -> None:
        """Something is wrong with one. of: which, where the error does not say so."""
        self._wrong.append((error, of))

    def check(self) -> None:
        """Raise what was noted: one error as it is, more as a RefusalError."""
        if len(self._wrong) == 1 and not self._wrong[0][1]:
            raise self._wrong[0][0]
        found: dict[str, list[str]] = {}
        for error, of in self._wrong:
            for line in _lines(error):
                found.setdefault(line, []).extend([of] if of else [])
        if found:
            said = (f"{_some(of)}: {line}" if of else line for line, of in found.items())
            raise RefusalError("\n".join(said))


def run(action: Callable[[], int]) -> int:
    """Run a verb to its exit code. SIGTERM ends it like Ctrl-C, through every `finally`; so does
    SIGHUP, but not what was started to outlive its terminal (nohup).
    """
    ending = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        ending.append(signal.SIGHUP)
    before = {number: signal.signal(number, _terminate) for number in ending}
    try:
        code = action()
        if sys.stdout is not None:
            sys.stdout.flush()  # what this raises at the interpreter's end is nobody's to word
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _say_no_more()
        return DONE
    except KafkaConfigurationError as error:
        return _say(error, MISUSED)
    except (KafkaError, RefusalError) as error:
        return _say(error, REFUSED)
    except OSError as error:  # no room for what is written, most of all
        _say_no_more()
        return _say(error, REFUSED)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def output() -> BinaryIO:
    """Where results go. RefusalError: standard output was closed before we were started."""
    if sys.stdout is None:
        raise RefusalError("standard output is closed: there is nowhere to write to")
    return sys.stdout.buffer


def input_() -> BinaryIO:
    """Where records come from. RefusalError: standard input was closed before we were started."""
    if sys.stdin is None:
        raise RefusalError("standard input is closed: there is nothing to read from")
    return sys.stdin.buffer


def _say_no_more() -> None:
    """Nothing can be written there, not even by the interpreter on its way out."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def held(within_s: float = 1.0) -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP wait for the end of this piece, `within_s` seconds at most.

    For what is only right when done whole (print, then note that it was printed). A second one,
    and a piece that does not end (the reader of a pipe has stopped), is interrupted as ever. An
    error out of the piece wins over what was held: it has to be one that ends the verb.
    """
    handlers = {number: signal.getsignal(number) for number in HOLDABLE}
    before = {number: one for number, one in handlers.items() if one is not signal.SIG_IGN}
    asked: list[signal.Signals] = []

    def hold(number: int, frame: FrameType | None) -> None:
        if not asked:
            asked.append(signal.Signals(number))
            signal.setitimer(signal.ITIMER_REAL, within_s)
            return
        release()
        first = asked.pop()
        end = before[first]
        if callable(end):
            end(first, frame)

    def release() -> None:
        if asked:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, hold)
    try:
        yield
    finally:
        release()
    if asked:
        signal.raise_signal(asked[0])


def printable(text: str) -> str:
    r"""Characters that do not print as Python writes them (`\x1b`, `\n`): ids of groups and clients
    may have any, and a terminal obeys some.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def say(text: str) -> None:
    """A line on standard error."""
    print(f"kcore: {printable(text)}", file=sys.stderr)


def _terminate(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _lines(error: Exception) -> list[str]:
    """What is said of it. A text of our own says all, and may have lines, as of a log; of others it
    is names that have them.
    """
    text, kind = str(error), type(error).__name__
    if isinstance(error, RefusalError):
        return list(map(printable, text.splitlines()))
    return [printable(text if text.startswith(kind) else f"{kind}: {text}")]


def _some(names: Sequence[str]) -> str:
    """The first ones, and how many more there are."""
    more = len(names) - _NAMED
    text = ", ".join(map(printable, names[:_NAMED]))
    return f"{text} and {more} more" if more > 0 else text


def _say(error: Exception, code: int) -> int:
    for line in _lines(error):
        say(line)
    return code
