"""What every suite shares; the parts are modules of tests/support/."""

import signal

pytest_plugins = ["real_kafka", "completeness", "chromium", "loopback", "threads"]


def pytest_configure():
    """A shell has what it starts in the background ignore Ctrl-C, and so do the processes that this
    one starts: who tests that it ends something needs it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
