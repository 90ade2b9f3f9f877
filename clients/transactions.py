"""The room of transactions: kafka-python's verbs, which this version answers with an error."""

from __future__ import annotations

from typing import Any, NoReturn

from kcore.errors import IllegalStateError


class Transactions:
    """The part of Producer that begins and ends transactions. IllegalStateError: not yet."""

    def init_transactions(self) -> NoReturn:
        """Register the transactional id, and end what it left behind."""
        _refuse("init_transactions")

    def begin_transaction(self) -> NoReturn:
        """What is sent from now on is in one transaction."""
        _refuse("begin_transaction")

    def send_offsets_to_transaction(
        self,
        offsets: Any,  # noqa: ARG002 - named as in kafka-python
        group_metadata: Any,  # noqa: ARG002
    ) -> NoReturn:
        """Commit a group's offsets with the transaction."""
        _refuse("send_offsets_to_transaction")

    def commit_transaction(self) -> NoReturn:
        """Make it visible."""
        _refuse("commit_transaction")

    def abort_transaction(self) -> NoReturn:
        """Have nobody see it."""
        _refuse("abort_transaction")


def _refuse(verb: str) -> NoReturn:
    raise IllegalStateError(
        f"{verb}: transactions are not available yet in this version; a producer without them is "
        "idempotent, and its records are visible at once"
    )
