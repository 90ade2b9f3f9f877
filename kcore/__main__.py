"""`python -m kcore` is the `kcore` command, of the Python that runs it."""

from kcore.unbuilt import advised

try:
    from kcore.cli.main import main
except ModuleNotFoundError as missing:
    raise advised(missing) from None

if __name__ == "__main__":
    main()
