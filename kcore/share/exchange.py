"""What goes back and forth with each broker: records are asked for, acknowledgements told.

A broker takes one request of a share session at a time. Records are asked for only while a poll
wants some: from when they are acquired their locks run. What is acknowledged rides along with the
next question to the broker it was acquired from, or goes at once if there is none.

    poll --wanted--> ShareFetch (acknowledgements of the last poll) --> parcels
    commit ---------> ShareAcknowledge
    close ----------> ShareAcknowledge with the final epoch: what is held is released
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kcore.connection.calls import Answer, Message, Reach
from kcore.errors import (
    AuthenticationFailedError,
    AuthorizationError,
    DisconnectedError,
    KafkaError,
    KafkaTimeoutError,
    ShareSessionNotFoundError,
    UnsupportedVersionError,
)
from kcore.share.acknowledgements import Sheet
from kcore.share.answers import Answers
from kcore.share.context import ShareContext
from kcore.share.node import ShareNode
from kcore.share.requests import acknowledge_request, fetch_request
from kcore.share.session import FINAL_EPOCH, Topics
from kcore.share.standing import StandingShareFetch
from kcore.share.stock import Stock
from kcore.structs import TopicPartition
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey

# Failures of a whole request that no later try can cure: the application must hear of them.
_HOPELESS: Final = (UnsupportedVersionError, AuthenticationFailedError, AuthorizationError)


class Exchange:
    """See the module's text. wanted: a poll wants records.

    on_error(error): something the application must know. on_told(sheet, error): the end of a sheet.
    on_sent(records): acknowledgements of so many go out.
    """

    def __init__(
        self,
        ctx: ShareContext,
        member_id: str,
        stock: Stock,
        on_told: Callable[[Sheet, KafkaError | None], None],
        on_error: Callable[[KafkaError], None],
        on_sent: Callable[[int], None],
    ) -> None:
        self._ctx = ctx
        self._member_id = member_id
        self._stock = stock
        self._on_told = on_told
        self._on_error = on_error
        self._on_sent = on_sent
        self._answers = Answers(ctx, stock, self._end_sheet, on_error)
        self._nodes: dict[int, ShareNode] = {}
        self._assigned: frozenset[TopicPartition] = frozenset()
        self._seen_version = -1
        self._ticked_at = -1
        self._turn = 0  # whose turn it is to be asked, one by one
        self._closing = False
        self.wanted = False

    @property
    def lock_timeout_ms(self) -> int | None:
        """How long locks last, as a broker last said."""
        return self._answers.lock_timeout_ms

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Ask for records of these."""
        self._assigned = frozenset(partitions)
        self._seen_version = -1

    def tell(self, sheets: Iterable[Sheet]) -> None:
        """Have brokers told."""
        for sheet in sheets:
            self._node(sheet.place.node_id).pending.append(sheet)

    def outstanding(self) -> list[Sheet]:
        """What brokers have not answered yet."""
        return [
            sheet for node in self._nodes.values() for sheet in (*node.pending, *node.in_flight)
        ]

    def close(self) -> None:
        """End every session, with the last of what there is to tell its broker."""
        self._closing = True
        self.wanted = False

    @property
    def closed(self) -> bool:
        """Whether every session has ended, and nothing is on its way."""
        return all(
            not (node.session.open or node.busy or node.pending) for node in self._nodes.values()
        )

    def _node(self, node_id: int) -> ShareNode:
        if node_id not in self._nodes:
            node = self._nodes[node_id] = ShareNode(node_id)
            node.standing = StandingShareFetch(
                self._ctx.config, self._member_id, self._answers, node, self._asks_the_same
            )
        return self._nodes[node_id]

    def state_of(self, node_id: int) -> str:
        """How it stands with a node, in a few words."""
        node = self._nodes.get(node_id)
        if node is None:
            return "nothing is asked of its leader yet"
        if node.busy:
            return "records are asked for" if node.fetching else "acknowledgements are on their way"
        if node.failures:
            return f"its leader failed {node.failures} times in a row: {node.error}"
        if self._stock.waiting:
            return "records wait for a poll"
        return "records are asked for when a poll wants them"

    # Turns -----------------------------------------------------------------------------------

    def recover(self) -> None:
        """Every question is answered (see ClientCore.handle_interrupted)."""
        for node in self._nodes.values():
            sheets, node.in_flight = node.in_flight, []
            node.busy = False
            self._lose(node, sheets, DisconnectedError("interrupted"))

    def handle_tick(self, now_ms: int) -> None:
        """Send whatever may be sent now."""
        self._ticked_at = now_ms
        if self._ctx.cluster.version != self._seen_version:
            self._place()
        nodes = list(self._nodes.values())
        if self._ctx.config.one_by_one and nodes:
            self._turn %= len(nodes)
            nodes = nodes[self._turn :] + nodes[: self._turn]
        for node in nodes:
            if not node.busy:
                self._serve(node, now_ms)

    def deadline(self) -> int:
        """When `handle_tick` has something to do by itself; the last one did all that it could."""
        first = NEVER
        for node in self._nodes.values():
            if node.busy:
                continue
            for sheet in node.pending:
                first = min(first, sheet.deadline_ms)
            wants_records = self.wanted and bool(node.leads) and not self._stock.waiting
            if node.pending or wants_records or (self._closing and node.session.open):
                retry_at = max(node.retry_at, self._ctx.network.retry_at(node.node_id))
                if retry_at > self._ticked_at:
                    first = min(first, retry_at)
        return first

    def _place(self) -> None:
        """Find out who leads what is assigned."""
        cluster = self._ctx.cluster
        self._seen_version = cluster.version
        leads: dict[int, Topics] = {}
        for tp in sorted(self._assigned):
            leader, topic_id = cluster.leader(tp), cluster.topic_id(tp.topic)
            if leader is None or topic_id is None:
                cluster.request_update()
            else:
                leads.setdefault(leader.node_id, {})[tp] = topic_id
        for node in self._nodes.values():
            node.leads = leads.pop(node.node_id, {})
        for node_id, topics in leads.items():
            self._node(node_id).leads = topics

    def _serve(self, node: ShareNode, now_ms: int) -> None:
        reach = self._ctx.network.reach(node.node_id, now_ms)
        self._give_up(node, reach, now_ms)
        if reach is Reach.UNKNOWN and not node.leads:
            del self._nodes[node.node_id]
        if now_ms < node.retry_at or reach in (Reach.UNKNOWN, Reach.BACKOFF):
            return
        if self._closing:
            if node.session.open:
                self._acknowledge(node, now_ms, final=True)
            return
        if any(sheet.renews for sheet in node.pending) or (
            node.pending and not self._may_fetch(node)
        ):
            self._acknowledge(node, now_ms)
        elif self._may_fetch(node):
            self._fetch(node, now_ms)
        elif node.session.open and not node.leads and not self._stock.holds_of(node.node_id):
            self._acknowledge(node, now_ms, final=True)

    def _give_up(self, node: ShareNode, reach: Reach, now_ms: int) -> None:
        """What the node cannot be told any more."""
        away = self._ctx.network.late
        for sheet in [one for one in node.pending if one.expired(now_ms, away=away)]:
            node.pending.remove(sheet)
            why = "the acknowledgement was not taken in within its time"
            self._end_sheet(sheet, KafkaTimeoutError(why))
        if node.session.open and reach is not Reach.READY:
            # The link has gone, and the session with it: the broker has released what was held.
            why = f"the connection to node {node.node_id} has ended, and its locks with it"
            self._lose(node, [], DisconnectedError(why, node=node.node_id))
        if node.pending and not node.session.open:  # the broker may not know it any more
            why = f"the session with node {node.node_id} has ended, and its locks with it"
            self._fail_pending(node, ShareSessionNotFoundError(why))

    def _may_fetch(self, node: ShareNode) -> bool:
        if not self.wanted or not node.leads or self._stock.waiting:
            return False
        if self._ctx.config.one_by_one:
            return not any(one.fetching for one in self._nodes.values())
        return True

    def _asks_the_same(self, node: ShareNode) -> bool:
        """Whether, once an empty answer is here, the question would be as it was."""
        return (
            self.wanted
            and not self._closing
            and not self._stock.waiting
            and not node.pending
            and not node.in_flight
            and node.leads is node.asked
            and self._seen_version == self._ctx.cluster.version
            and not self._ctx.config.one_by_one  # it may be another's turn
        )

    # Asking ----------------------------------------------------------------------------------

    def _fetch(self, node: ShareNode, now_ms: int) -> None:
        config, epoch = self._ctx.config, node.session.epoch
        added, forgotten = node.session.change_to(node.leads)
        sheets, left = node.choose()
        asked = [*node.session.partitions.items()]
        gone = dict.fromkeys((topic_id, tp.partition) for tp, topic_id in forgotten.items())
        for sheet in sheets:  # a broker takes it that whatever a request names is to be read, too
            tp, topic_id, _ = sheet.place
            if node.session.partitions.get(tp) != topic_id:
                gone[topic_id, tp.partition] = None

        def build(version: int) -> Message:
            return fetch_request(config, self._member_id, epoch, added, gone, sheets, version)

        def done(answer: Answer, at_ms: int) -> None:
            riding = node.answered()
            if answer.error is not None:
                self._failed(node, riding, answer.error, at_ms)
            else:
                told = [(sheet.place.tp, sheet.place.topic_id) for sheet in riding]
                names = {(topic, tp.partition): tp for tp, topic in asked + told}
                self._answers.take_fetch(node, names, riding, answer.body, at_ms)

        node.asked, node.asked_at = node.leads, now_ms
        self._ctx.network.send(
            node.node_id,
            ApiKey.SHARE_FETCH,
            build,
            done,
            now_ms,
            timeout_ms=node.standing.timeout_ms,
            standing=node.standing,
        )
        # Behind it: see ClientCore.handle_interrupted.
        node.sent(sheets, left, fetching=True)
        self._note_sent(sheets)
        if config.one_by_one:
            self._turn += 1

    def _acknowledge(self, node: ShareNode, now_ms: int, *, final: bool = False) -> None:
        sheets, left = node.choose()
        final = final and not left  # else what is left could not be told any more
        config, epoch = self._ctx.config, FINAL_EPOCH if final else node.session.epoch

        def build(version: int) -> Message:
            return acknowledge_request(config, self._member_id, epoch, sheets, version)

        def done(answer: Answer, at_ms: int) -> None:
            riding = node.answered()
            if answer.error is not None:
                self._failed(node, riding, answer.error, at_ms)
            else:
                self._answers.take_acknowledge(node, riding, answer.body, at_ms, final=final)
            if final:
                node.session.reset()

        self._ctx.network.send(node.node_id, ApiKey.SHARE_ACKNOWLEDGE, build, done, now_ms)
        node.sent(sheets, left, fetching=False)
        self._note_sent(sheets)

    def _note_sent(self, sheets: list[Sheet]) -> None:
        if sheets:
            self._on_sent(sum(sheet.records for sheet in sheets))

    # Ends ------------------------------------------------------------------------------------

    def _failed(self, node: ShareNode, riding: list[Sheet], error: KafkaError, now_ms: int) -> None:
        """No answer: the link is gone, or never was."""
        if isinstance(error, UnsupportedVersionError):
            # It was not written, so the session goes on.
            for sheet in riding:
                self._end_sheet(sheet, error)
        else:
            self._lose(node, riding, error)
        node.failed(now_ms + self._ctx.backoff(node.failures), error)
        self._ctx.cluster.request_update()
        if isinstance(error, _HOPELESS):
            self._on_error(error)

    def _lose(self, node: ShareNode, riding: list[Sheet], error: KafkaError) -> None:
        node.session.reset()
        self._stock.lose(node.node_id)
        for sheet in riding:
            self._end_sheet(sheet, error)
        self._fail_pending(node, error)

    def _fail_pending(self, node: ShareNode, error: KafkaError) -> None:
        sheets, node.pending = node.pending, []
        for sheet in sheets:
            self._end_sheet(sheet, error)

    def _end_sheet(self, sheet: Sheet, error: KafkaError | None) -> None:
        sheet.end(error)
        self._stock.renewed()
        self._on_told(sheet, error)
