"""What a process of tests tells the one that shares them out (pytest-xdist): of a setup or teardown
that went well nothing. Three reports a test, each packed and unpacked in Python, are a tenth of
what tests that calculate take; `--junit-xml` and `--durations` ask for all of them.
"""

from __future__ import annotations

from typing import Any

import pytest


def pytest_sessionstart(session: pytest.Session) -> None:
    option = session.config.option
    if option.xmlpath or option.durations is not None:
        return
    for plugin in session.config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":
            plugin.sendevent = _without_what_goes_well(plugin.sendevent)


def _without_what_goes_well(send: Any) -> Any:
    def sendevent(name: str, **kwargs: Any) -> None:
        report = kwargs.get("data")
        if name == "testreport" and report["outcome"] == "passed" and report["when"] != "call":
            return
        send(name, **kwargs)

    return sendevent
