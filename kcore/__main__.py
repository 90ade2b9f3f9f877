"""`python -m kcore` is the `kcore` command, of the Python that runs it."""

from kcore.cli.main import main

if __name__ == "__main__":
    main()
