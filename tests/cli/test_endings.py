"""Exit codes: a line on standard error for each thing that is wrong, never a traceback."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner

from kcore.cli import endings
from kcore.cli.commands import kcore
from kcore.cli.tables import Page, table
from kcore.errors import KafkaConfigurationError, KafkaConnectionError


def _raise(error):
    raise error


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KafkaConnectionError("no broker"), 1, "KafkaConnectionError: no broker"),
        (KafkaConfigurationError("no such option"), 2, "KafkaConfigurationError: no such option"),
        (endings.RefusalError("no such topic"), 1, "kcore: no such topic"),
        (KafkaConnectionError("no '\x1b[31m\n'"), 1, r"no '\x1b[31m\n'"),
    ],
)
def test_errors_become_one_line(capsys, error, code, said):
    assert endings.run(lambda: _raise(error)) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert not captured.out


def test_lines_of_our_own_stay_lines(capsys):
    log = endings.RefusalError("it ended:\na\x1b[31mb\nload is high")
    assert endings.run(lambda: _raise(log)) == 1
    assert capsys.readouterr().err.splitlines() == [
        "kcore: it ended:", r"kcore: a\x1b[31mb", "kcore: load is high"
    ]  # fmt: skip


def test_success_passes_its_code():
    assert endings.run(lambda: 0) == 0


def test_ctrl_c_is_130():
    assert endings.run(lambda: _raise(KeyboardInterrupt())) == 130


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_who_is_asked_to_end_runs_finally(number, code):
    seen = []

    def verb():
        try:
            os.kill(os.getpid(), number)
            signal.pause()
        finally:
            seen.append("cleaned up")

    before = signal.getsignal(number)
    assert before is not endings._terminate
    with pytest.raises(SystemExit) as ended:
        endings.run(verb)
    assert ended.value.code == code
    assert seen == ["cleaned up"]
    assert signal.getsignal(number) == before


def test_what_outlives_its_terminal_goes_on():
    """As nohup starts it."""

    def verb():
        os.kill(os.getpid(), signal.SIGHUP)
        with endings.held():
            os.kill(os.getpid(), signal.SIGHUP)
        return 7

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert endings.run(verb) == 7
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


CHATTER = """
import sys
import threading
from kcore.cli import endings
from kcore.cli.commands import kcore
def verb():
    while True:
        sys.stdout.write("x" * 10_000)
sys.exit(endings.run(verb))
"""


def test_a_closed_pipe_ends_it_quietly():
    process = subprocess.Popen(
        [sys.executable, "-c", CHATTER], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.read(100)
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait(10) == 0


LAST_WORDS = """
import sys
from kcore.cli import endings
def verb():
    print("little", end="")
    return 0
sys.exit(endings.run(verb))
"""

TABLES = """
import sys
from kcore.cli import endings
from kcore.cli.tables import Page, table
def verb():
    page, rows = Page(), table("word")
    rows.add_row("x")
    while True:
        page.show(rows)
sys.exit(endings.run(verb))
"""


@pytest.mark.parametrize("program", [LAST_WORDS, TABLES], ids=["at the end", "tables"])
def test_a_pipe_that_was_closed_before_ends_it_quietly(monkeypatch, program):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-c", program], stdout=closed, stderr=subprocess.PIPE, timeout=20
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_no_room_for_the_last_words_is_one_line(monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", LAST_WORDS], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "kcore: OSError: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("line", [["--help"], ["--version"], ["consume", "--help"]])
def test_no_room_for_the_help_is_one_line(line):
    program = "from kcore.cli.main import main; main()"
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", program, *line], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == endings.REFUSED
    assert done.stderr == "kcore: OSError: [Errno 28] No space left on device\n"


def test_a_row_is_a_line_however_long(capsys):
    page, rows = Page(), table("name", "value")
    rows.add_row("policy", "x" * 30_000)
    page.show(rows)
    assert capsys.readouterr().out.split() == ["name", "value", "policy", "x" * 30_000]


def test_no_room_for_what_is_written_is_one_line():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", CHATTER], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "kcore: OSError: [Errno 28] No space left on device\n"


def test_a_standard_output_that_is_closed_is_one_line():
    verb = "import sys; from kcore.cli import endings; sys.exit(endings.run(endings.output))"
    done = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" >&-', sys.executable, verb], stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 1
    assert done.stderr == (
        "kcore: standard output is closed: there is nowhere to write to\n"
    )


def test_topics_need_a_standard_output_too():
    verb = "from kcore.cli.main import main; main()"
    line = '"$0" -c "$1" topics --bootstrap 127.0.0.1:1 >&-'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, verb], stderr=subprocess.PIPE, text=True, timeout=20
    )
    assert done.returncode == 1
    assert done.stderr == (
        "kcore: standard output is closed: there is nowhere to write to\n"
    )


def test_where_standard_error_is_closed_nothing_of_it_is_among_the_records(kcore_broker):
    """It was printed on standard output."""
    kcore_broker.create_topic("t")
    kcore_broker.produce("t", [(None, b"v")] * 3)
    lines = "consume t --from 9 -e -b", "produce t -b"
    for line in lines:
        shell = f'"$0" -c "$1" {line} {kcore_broker.bootstrap} 2>&-'
        verb = "from kcore.cli.main import main; main()"
        done = subprocess.run(
            ["sh", "-c", shell, sys.executable, verb],
            capture_output=True, input="", text=True, timeout=20,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("line", ["broker", "sim --runs 1", "topics --bootstrap h:1"])
def test_ctrl_c_before_a_verb_runs_ends_as_in_it(monkeypatch, line):
    class Interrupted:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, f"kcore.cli.{line.split()[0]}", Interrupted())
    done = CliRunner().invoke(kcore, line.split())
    assert (done.exit_code, done.output) == (endings.INTERRUPTED, "")


@pytest.mark.parametrize(
    ("number", "raised"),
    [
        (signal.SIGINT, KeyboardInterrupt),
        (signal.SIGTERM, SystemExit),
        (signal.SIGHUP, SystemExit),
    ],
)
def test_held_lets_the_piece_end_first(number, raised):
    done = []

    def verb():
        with endings.held():
            os.kill(os.getpid(), number)
            done.append("held")
        done.append("not reached")

    handlers = [signal.getsignal(each) for each in endings.HOLDABLE]
    with pytest.raises(raised):
        verb() if number == signal.SIGINT else endings.run(verb)
    assert done == ["held"]
    assert [signal.getsignal(each) for each in endings.HOLDABLE] == handlers


def test_held_without_a_signal_changes_nothing():
    handlers = [signal.getsignal(each) for each in endings.HOLDABLE]
    with endings.held():
        pass
    assert [signal.getsignal(each) for each in endings.HOLDABLE] == handlers


def hold(*steps, within_s=30.0):
    with endings.held(within_s):
        for step in steps:
            step()


def ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def test_an_error_inside_wins_over_what_was_held():
    with pytest.raises(BrokenPipeError):
        hold(ctrl_c, lambda: _raise(BrokenPipeError()))


def test_held_does_not_hold_for_ever():
    nobody_reads = threading.Event().wait
    done = []
    with pytest.raises(KeyboardInterrupt):
        hold(ctrl_c, lambda: nobody_reads(5), lambda: done.append("not reached"), within_s=0.05)
    assert done == []


def test_what_was_held_is_not_heard_of_again():
    """The alarm would end the process, which may be closing for longer than that."""
    with pytest.raises(KeyboardInterrupt):
        hold(ctrl_c)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_what_nobody_minds_is_not_held():
    """The next would be taken for the second, and both be lost (`nohup`, `&` in a script)."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt):
            hold(lambda: os.kill(os.getpid(), signal.SIGHUP), ctrl_c)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_whoever_presses_ctrl_c_twice_means_it():
    done = []
    with pytest.raises(KeyboardInterrupt):
        hold(ctrl_c, ctrl_c, lambda: done.append("not reached"))
    assert done == []


@pytest.mark.parametrize(
    "line", ["sim --seed 1 --duration 1", "broker -l 127.0.0.1:0", "pipeline delays"]
)
def test_what_cannot_be_told_is_refused(line):
    verb = "from kcore.cli.main import main; main()"
    shell = ["sh", "-c", f'"$0" -c "$1" {line} >&-', sys.executable, verb]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=20)
    assert done.returncode == endings.REFUSED
    assert "standard output is closed" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "module", ["kcore.errors", "kcore.cli.endings", "click", "kcore.cli.commands", "kcore.cli.sim"]
)
def test_ctrl_c_while_it_is_loaded_is_130(module):
    program = """
import sys
word = sys.argv.pop()
class Finder:
    def find_spec(self, name, path, target=None):
        if name == word:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
sys.argv += ["sim", "--seed", "1", "--duration", "1"]
from kcore.cli.main import main
main()
"""
    command = [sys.executable, "-c", program, module]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (endings.INTERRUPTED, "")
    assert "Traceback" not in done.stderr


def test_what_could_be_a_picture_or_markup_is_printed_as_it_is(capsys):
    rows = table("group")
    rows.add_row("a:smile:[bold]b")
    Page().show("g:heart:: [red]", rows)
    assert capsys.readouterr().out.split("\n")[::2][:2] == ["g:heart:: [red]", "a:smile:[bold]b"]
