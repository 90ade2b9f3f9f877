"""Whether who tells of the cluster is of the cluster that is meant.

An address may pass to a broker of another cluster: containers are given those that others had a
moment ago, and names and balancers are set wrong. Who believed that broker would go on in the other
cluster, and write there. So what a broker says under another cluster's id is not believed: its link
ends, with a backoff as after any failure, and others are asked.

A cluster that was made anew has another id, too, and so has the one that a name was moved to. Those
are found by way of the bootstrap servers, which are asked when no broker that is known can be
(KIP-899): they are believed when nobody has named the old id for IN_A_ROW answers, some seconds.
Where they are not asked again (metadata.recovery.strategy=none) nothing is checked. Nor is it any
more after IN_ALL such answers: whoever serves there names its clusters as it likes.

Source: KIP-1242, which has brokers of Kafka 4.4 do this.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.cluster.links import Links
from kcore.connection.calls import Answer
from kcore.errors import DisconnectedError
from kcore.events import Event, OtherClusterMet
from kcore.hints import Final

IN_A_ROW: Final = 10
IN_ALL: Final = 100


class Kinship:
    """See the module's text."""

    def __init__(self, links: Links, emit: Callable[[Event], None]) -> None:
        self._links = links
        self._emit = emit
        self._cluster_id: str | None = None
        self._in_a_row = self._in_all = 0  # answers that were another cluster's

    def judge(self, answer: Answer, now_ms: int) -> Answer:
        """The answer to a Metadata request; or, if it is another cluster's, that there is none."""
        said: str | None = None if answer.body is None else answer.body.cluster_id
        known = self._cluster_id
        if not said or not self._links.rebootstraps:
            return answer
        if known is not None and said != known:
            self._in_a_row += 1
            self._in_all += 1
            lasting = answer.node < 0 and self._in_a_row >= IN_A_ROW
            if not lasting and self._in_all < IN_ALL:
                return self._refuse(answer, said, known, now_ms)
        self._cluster_id = said
        self._in_a_row = 0
        return answer

    def _refuse(self, answer: Answer, said: str, known: str, now_ms: int) -> Answer:
        where = self._links.address(answer.node)
        error = DisconnectedError(
            f"{where} belongs to the cluster {said!r}, not to {known!r}: has its address passed to "
            "another broker?"
        )
        self._emit(OtherClusterMet(answer.node, where, said, known))
        self._links.drop(answer.node, now_ms, error)
        return Answer(None, error, answer.version, answer.node)
