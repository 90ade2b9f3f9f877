"""What the user sees while the group reads: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final, Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from kcore.cli.demo.board import Board

REFRESHES_PER_S: Final = 10
PLAIN_EVERY_S: Final = 1.0
NEWS_SHOWN: Final = 8
BAR_COLUMNS: Final = 32


class Display(Protocol):
    """Something that shows a board, again and again."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it, leaving the terminal as it was."""

    def show(self, board: Board, elapsed_s: float) -> None:
        """Show it as it is now; cheap to call often."""


def display(console: Console) -> Display:
    """The one for this console."""
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(console)


class PlainDisplay:
    """A line for each piece of news, and one of progress a second."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to undo."""

    def show(self, board: Board, elapsed_s: float) -> None:
        """Print what is new."""
        for line in board.take_news():
            self._console.print(line, highlight=False, soft_wrap=True)
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + PLAIN_EVERY_S
            self._console.print(summary(board, elapsed_s), highlight=False, soft_wrap=True)


class LiveDisplay:
    """Partitions with a bar each, members, and the last news of the group; redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, refresh_per_second=REFRESHES_PER_S, transient=True)
        self._news: list[str] = []

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()
        for line in self._news:
            self._live.console.print(line, highlight=False, soft_wrap=True)

    def show(self, board: Board, elapsed_s: float) -> None:
        """Redraw (rich limits how often that reaches the terminal)."""
        self._news += board.take_news()
        self._live.update(
            Group(
                _partition_bars(board),
                _member_states(board),
                *_node_states(board),
                *self._news[-NEWS_SHOWN:],
                summary(board, elapsed_s),
            )
        )


def summary(board: Board, elapsed_s: float) -> str:
    """One line of progress."""
    rate = board.records / elapsed_s if elapsed_s > 0 else 0.0
    states = ", ".join(row.state for row in board.members)
    return (
        f"{board.records:,} records committed, {board.size_bytes / 1e6:,.1f} MB, "
        f"{rate:,.0f} records/s; members: {states}"
    )


def _partition_bars(board: Board) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("partition", "", "committed", "of", "member"):
        table.add_column(column, justify="left" if column in {"", "member"} else "right")
    for number, row in board.partitions.items():
        bar = ProgressBar(total=max(1, row.end), completed=row.committed or 0, width=BAR_COLUMNS)
        owner = "-" if row.owner is None else str(row.owner)
        table.add_row(str(number), bar, f"{row.committed or 0:,}", f"{row.end:,}", owner)
    return table


def _member_states(board: Board) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("member", "state", "generation", "partitions"):
        table.add_column(column)
    for number, row in enumerate(board.members):
        generation = str(row.generation) if row.generation >= 0 else "-"
        partitions = ", ".join(map(str, row.partitions)) or "-"
        leads = " (leader)" if board.leader == number else ""
        table.add_row(f"{number}{leads}", row.state, generation, partitions)
    return table


def _node_states(board: Board) -> list[Text]:
    """One line about the nodes, if they are the demo's own."""
    if not board.nodes:
        return []
    line = Text("nodes ")
    for node, state in board.nodes.items():
        line.append(f" {node} {state} ", "green" if state == "up" else "bold red")
    return [line]


def final_table(board: Board, committed: dict[int, int | None]) -> Table:
    """The end result: by partition, with the committed offsets that the broker itself answers."""
    table = Table()
    for column in ("partition", "member", "records", "bytes", "committed offset", "lag"):
        table.add_column(column, justify="right")
    for number, row in board.partitions.items():
        offset = committed.get(number)
        lag = row.end if offset is None else max(0, row.end - offset)
        table.add_row(
            str(number),
            ", ".join(map(str, row.readers)) or "-",
            f"{row.records:,}",
            f"{row.size_bytes:,}",
            "-" if offset is None else f"{offset:,}",
            f"{lag:,}",
        )
    return table
