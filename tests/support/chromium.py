"""A real browser, without a window: what a page becomes once its script has run, or how it looks.

Debian has it as `chromium`; KCORE_CHROMIUM names another one. Without any, the tests that open a
page are left out, and the run says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TIMEOUT_S = 100

# What the page itself complains of, among what the browser has to say about its machine.
CONSOLE = re.compile(r"CONSOLE[^\]]*\] (.*)")


def found() -> str | None:
    given = os.environ.get("KCORE_CHROMIUM")
    return given or next((path for name in NAMES if (path := shutil.which(name))), None)


def pytest_report_header() -> str | None:
    return None if found() else "left out: every test that opens a page (there is no Chromium)"


class Chromium:
    """A browser for one test, with a folder of its own."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder

    def document(self, page: Path, fragment: str = "") -> tuple[str, list[str]]:
        """The page as its script leaves it, and what the console got."""
        done = self._run("--dump-dom", f"{page.as_uri()}{fragment}")
        return done.stdout, CONSOLE.findall(done.stderr)

    def picture(self, page: Path, into: Path, *options: str) -> None:
        """How it looks, as PNG, 1000 pixels wide."""
        self._run(f"--screenshot={into}", "--window-size=1000,1600", *options, page.as_uri())

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [
            *(self._program, "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
            *("--disable-dev-shm-usage", "--enable-logging=stderr", "--log-level=0"),
            f"--user-data-dir={self._folder}",
        ]
        if os.geteuid() == 0:
            command.append("--no-sandbox")  # it has none for root
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S
        )
        assert done.returncode == 0, done.stderr
        return done


@pytest.fixture
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Chromium:
    program = found()
    if program is None:
        pytest.skip("there is no Chromium")
    return Chromium(program, tmp_path_factory.mktemp("chromium"))
