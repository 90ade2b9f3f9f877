"""The `kcore` command. Its parts beyond the library are the extra `cli`."""

from __future__ import annotations

import sys

from kcore.cli.endings import INTERRUPTED, REFUSED


def main() -> None:
    """Run the command line; ends the process with the verb's exit code (see endings.py)."""
    try:
        from kcore.cli.commands import kcore  # noqa: PLC0415 (says what is missing, see below)
    except ModuleNotFoundError as missing:
        if missing.name not in {"click", "rich"}:
            raise
        sys.exit(_say_missing(missing.name))
    except KeyboardInterrupt:  # what is imported takes a while
        sys.exit(INTERRUPTED)
    kcore()


def _say_missing(name: str) -> int:
    print(f"kcore: {name} is not installed: pip install 'kcore[cli]'", file=sys.stderr)
    return REFUSED


if __name__ == "__main__":
    main()
