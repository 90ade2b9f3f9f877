"""Whether who tells of the cluster is of the cluster that is meant.

An address may pass to a broker of another cluster: containers are given those that others had a
moment ago, and names and balancers are set wrong. Who believed that broker would go on in the other
cluster, and write there. So what a broker says under another cluster's id is not believed: its
links end, it is left alone for AWAY_MS, and others are asked.

A cluster that was made anew has another id, too, and so has the one that a name was moved to. Those
are found by way of the bootstrap servers, which are asked when no broker that is known can be
(KIP-899): they are believed when nobody has named the old id for IN_A_ROW answers, within a second
or two. Where they are not asked again (metadata.recovery.strategy=none) nothing is checked. Until
somebody tells of another cluster for the first time, `ClientCore` knows the id by itself.

A broker since Kafka 4.4 is told who it is thought to be when a link is made, and says if it is not
(KIP-1242): then nothing else is asked of it, and the link counts as failed (`connection.greeting`).
Java believes the first answer of a bootstrap server then.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.cluster.links import Links
from kcore.connection.calls import Answer, keys_of, node_id_of
from kcore.errors import DisconnectedError
from kcore.events import Event, OtherClusterMet
from kcore.hints import Final

IN_A_ROW: Final = 3
# Others are asked meanwhile. No longer: who waits for a node looks again when this is over, though
# its cluster may have been found, or its partitions have moved, since.
AWAY_MS: Final = 1_000


class Kinship:
    """See the module's text. links: have the id of the cluster that is meant. refused(): an answer
    was, and others are to be asked soon.
    """

    def __init__(
        self, links: Links, emit: Callable[[Event], None], refused: Callable[[], None]
    ) -> None:
        self._links = links
        self._refused = refused
        self._emit = emit
        self._in_a_row = 0  # answers that were another cluster's

    def judge(self, answer: Answer, now_ms: int) -> Answer:
        """The answer to a Metadata request; or, if it is another cluster's, that there is none."""
        said: str | None = None if answer.body is None else answer.body.cluster_id
        known = self._links.cluster_id
        if not said or known is None:
            return answer
        if said != known:
            self._in_a_row += 1
            if answer.node >= 0 or self._in_a_row < IN_A_ROW:
                return self._refuse(answer, said, known, now_ms)
            self._links.set_nodes([], now_ms)  # of the other cluster, whatever their addresses
        self._links.cluster_id = said
        self._in_a_row = 0
        return answer

    def _refuse(self, answer: Answer, said: str, known: str, now_ms: int) -> Answer:
        node, links = node_id_of(answer.node), self._links
        where = links.address(node)
        error = DisconnectedError(
            f"{where} belongs to the cluster {said!r}, not to {known!r}: has its address passed to "
            "another broker?"
        )
        self._emit(OtherClusterMet(node, where, said, known))
        self._refused()
        if node < 0:
            links.drop(node, now_ms, error)
        elif self._in_a_row < IN_A_ROW:
            for key in keys_of(node):
                links.drop(key, now_ms, error, AWAY_MS)
        else:
            links.set_nodes([], now_ms)  # all of them, it seems: the bootstrap knows better
        return Answer(None, error, answer.version, node)
