"""The `kcore` command. Its parts beyond the library are the extra `cli`.

Nothing is imported before `main` runs: Ctrl-C while that goes on is no traceback.
"""

from __future__ import annotations

import os
import sys

_INTERRUPTED = 130  # endings.INTERRUPTED, which may not be there yet


def main() -> None:
    """Run the command line; ends the process with the verb's exit code (see endings.py)."""
    if sys.stderr is None:  # closed (`2>&-`): what is printed there would be among the results
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as we are
    try:
        try:
            from kcore.cli.commands import kcore  # noqa: PLC0415 - see above
            from kcore.cli.endings import run  # noqa: PLC0415
        except ModuleNotFoundError as missing:
            if missing.name not in {"click", "rich"}:
                raise
            sys.exit(_say_missing(missing.name))
        sys.exit(run(kcore))  # what is wrong before a verb runs: no room for a --help
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _say_missing(name: str) -> int:
    from kcore.cli.endings import REFUSED  # noqa: PLC0415 - see above

    print(f"kcore: {name} is not installed: pip install 'kcore[cli]'", file=sys.stderr)
    return REFUSED


if __name__ == "__main__":
    main()
