"""What the programs of the documents hand their records to, and what ends their loops."""


class EnoughError(BaseException):
    """Ends a loop that its reader would end by Ctrl-C: nothing that handles errors catches it."""


class Told:
    """In place of `print`, or of what handles a record: ends what calls it after so many calls."""

    def __init__(self, enough=None):
        self.calls = []
        self.enough = enough

    def __call__(self, *said):
        self.calls.append(said)
        if len(self.calls) == self.enough:
            raise EnoughError

    @property
    def values(self):
        """Of the records it was called with."""
        return [record.value for (record,) in self.calls]
