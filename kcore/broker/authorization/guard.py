"""Between a node and its handlers: each request is held against the table before it is served.

What is refused as a whole never reaches a handler. Else the handler gets what is left of it, as a
`GuardedCall`, and the answer, whenever it comes, is amended: with what was taken out, without what
is hidden. A node without an authorizer has its handlers as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

from kcore.broker.authorization.acls import CLUSTER_NAME, Operation, Resource
from kcore.broker.authorization.authorizer import Authorizer
from kcore.broker.authorization.gates import GATES
from kcore.broker.authorization.refused import refused_answer
from kcore.broker.authorization.table import ERRORS, TABLE, Entries, Hides, Need, Rule
from kcore.broker.calls import UNANSWERED, Call
from kcore.coordinator import Caller
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.message import ZERO_UUID, Message
from kcore.wire.messages import ProduceRequest

Handler = Callable[[Call, Any], Message | str]
Amendment = Callable[[Any], None]

_NO_ANSWER: Final = 0


class GuardedCall(Call):
    """A request whose client may not do everything."""

    __slots__ = ("_amendments", "authorizer", "principal")

    guarded = True

    def __init__(self, call: Call, authorizer: Authorizer) -> None:
        for name in Call.__slots__:
            setattr(self, name, getattr(call, name))
        self.authorizer = authorizer
        self.principal = authorizer.principal_of(call.client_id, call.link.principal)
        self._amendments: list[Amendment] = []

    def allows(self, operation: Operation, resource: Resource, name: str = CLUSTER_NAME) -> bool:
        """Whether who asks may do something."""
        host = self.link.host
        return self.authorizer.allows(self.principal, host, operation, resource, name)

    def may(
        self, operation: Operation, resource: Resource, name: str, instead: Operation | None
    ) -> bool:
        """The same; or something else to the cluster, which does as well."""
        if instead is not None and self.allows(instead, Resource.CLUSTER):
            return True
        return self.allows(operation, resource, name)

    def allows_some(self, operation: Operation, resource: Resource) -> bool:
        """Whether who asks may do something to any resource of a type."""
        return self.authorizer.allows_some(self.principal, self.link.host, operation, resource)

    def operations(self, resource: Resource, name: str = CLUSTER_NAME) -> int:
        """What who asks may do to a resource, a bit each."""
        return self.authorizer.operations(self.principal, self.link.host, resource, name)

    def name_of(self, one: Any, field: str) -> str | None:
        """What an entry names, by itself, by a field or by the id of a topic; None: nothing that
        is known.
        """
        if not field:
            return cast("str", one)
        name: str | None = getattr(one, field, None)
        topic_id = getattr(one, "topic_id", ZERO_UUID)
        if not name and topic_id != ZERO_UUID:
            return self.node.cluster.topics.name_of(topic_id)
        return name

    def caller(self) -> Caller:
        """Whom the coordinator is to answer, and what he may know."""
        return replace(super().caller(), sees=self._sees, may_create=self._may_create)

    def _sees(self, topic: str) -> bool:
        return self.allows(Operation.DESCRIBE, Resource.TOPIC, topic)

    def _may_create(self, topic: str) -> bool:
        return self.allows(Operation.CREATE, Resource.CLUSTER) or self.allows(
            Operation.CREATE, Resource.TOPIC, topic
        )

    # Answers -------------------------------------------------------------------------------------

    def amend(self, amendment: Amendment) -> None:
        """Have the answer changed before it goes out, behind what was asked for before."""
        self._amendments.append(amendment)

    def amended(self, message: Message) -> Message:
        """The answer as it goes out."""
        for amendment in self._amendments:
            amendment(message)
        return message

    @property
    def is_amended(self) -> bool:
        """Whether the answer is another than the handler's."""
        return bool(self._amendments)

    def answer(self, message: Message) -> None:
        """Answer a parked request."""
        super().answer(self.amended(message))


def guarded(authorizer: Authorizer, handlers: Mapping[ApiKey, Handler]) -> dict[ApiKey, Handler]:
    """The handlers of a node behind its authorizer. KeyError: the table lacks an API."""
    return {key: partial(_serve, authorizer, TABLE[key], serve) for key, serve in handlers.items()}


def _serve(
    authorizer: Authorizer, rule: Rule, serve: Handler, plain: Call, request: Message
) -> Message | str:
    call = GuardedCall(plain, authorizer)
    result: Message | str | None = _refused(call, rule, request)
    served = result is None
    if result is None:
        result = serve(call, request)
        if isinstance(result, Message):
            result = call.amended(result)
    silent = isinstance(request, ProduceRequest) and request.acks == _NO_ANSWER
    if silent and (call.is_amended or not served):
        plain.node.hang_up(plain)  # the only way to tell who wants no answer
        return UNANSWERED
    return result


def _refused(call: GuardedCall, rule: Rule, request: Message) -> Message | None:
    """The answer, if nothing is left to be served."""
    once = call.version >= rule.once_since
    for need in rule.needs:
        if need.since <= call.version <= need.until and not _is_met(call, need, request):
            return refused_answer(request, call.version, ERRORS[need.resource], once=once)
    gate = GATES.get(call.key)
    refused = None if gate is None else gate(call, request)
    if refused is not None:
        return refused
    for hides in rule.hides:
        call.amend(partial(_hide, call, hides))
    for entries in rule.entries:
        if entries.within is not None:
            _take_out_within(call, entries, entries.within, request)
        elif (refused := _take_out(call, entries, request)) is not None:
            return refused
    return None


def _is_met(call: GuardedCall, need: Need, request: Message) -> bool:
    name = getattr(request, need.field) if need.field else CLUSTER_NAME
    return call.may(need.operation, need.resource, name or "", need.instead)


# Entries of requests ------------------------------------------------------------------------------


def _split(call: GuardedCall, entries: Entries, asked: list[Any]) -> tuple[list[Any], list[Any]]:
    """Those that are served, and those that are refused."""
    kept: list[Any] = []
    refused: list[Any] = []
    names = [call.name_of(one, entries.field) for one in asked]
    times = Counter(names) if entries.distinct else {}
    for one, name in zip(asked, names, strict=True):
        if name is None or times.get(name, 1) > 1:
            kept.append(one)  # the handler says what is wrong with it
        elif call.may(entries.operation, entries.resource, name, entries.instead):
            kept.append(one)
        else:
            refused.append(one)
    return kept, refused


def _take_out(call: GuardedCall, entries: Entries, request: Message) -> Message | None:
    """Have the handler see what it may serve only. The answer, if that is nothing."""
    asked = getattr(request, entries.asked)
    kept, refused = _split(call, entries, asked or [])
    if not refused:
        return None
    error = ERRORS[entries.resource]
    setattr(request, entries.asked, refused)
    answer = refused_answer(request, call.version, error, bare=entries.bare)
    setattr(request, entries.asked, kept)
    if entries.with_ids:
        for one in getattr(answer, entries.answered):
            name = getattr(one, entries.field)
            one.topic_id = call.node.cluster.topics.id_of(name) or ZERO_UUID
    if not kept:
        if hasattr(answer, "error_code"):
            answer.error_code = ErrorCode.NONE
        if hasattr(answer, "error_message"):
            answer.error_message = None
        return answer
    call.amend(partial(_put_back, entries.answered, getattr(answer, entries.answered)))
    return None


def _take_out_within(
    call: GuardedCall, entries: Entries, within: tuple[str, str], request: Message
) -> None:
    """The same of lists in the entries of a list."""
    outer, key = within
    holders = getattr(request, outer)
    found: dict[str, list[Any]] = {}
    for holder in holders:
        kept, refused = _split(call, entries, getattr(holder, entries.asked) or [])
        if not refused:
            continue
        setattr(request, outer, [holder])
        setattr(holder, entries.asked, refused)
        (answer,) = getattr(refused_answer(request, call.version, ERRORS[entries.resource]), outer)
        setattr(holder, entries.asked, kept)
        setattr(request, outer, holders)
        parts = getattr(answer, entries.answered)
        found.setdefault(getattr(holder, key), []).extend(parts)
    if found:
        call.amend(partial(_put_back_within, entries, within, found))


def _put_back(answered: str, parts: Iterable[Any], answer: Any) -> None:
    """An answer, or a part of it, gets what was refused; unless it is an error by itself."""
    if not getattr(answer, "error_code", ErrorCode.NONE):
        getattr(answer, answered).extend(parts)


def _put_back_within(
    entries: Entries, within: tuple[str, str], found: Mapping[str, list[Any]], answer: Any
) -> None:
    outer, key = within
    for holder in getattr(answer, outer):
        _put_back(entries.answered, found.get(getattr(holder, key), ()), holder)


# Entries of answers -------------------------------------------------------------------------------


def _hide(call: GuardedCall, hides: Hides, answer: Any) -> None:
    """Leave out what may not be described."""
    for holder in [answer] if hides.within is None else getattr(answer, hides.within):
        shown = [
            one
            for one in getattr(holder, hides.answered)
            if (name := call.name_of(one, hides.field)) is None
            or call.may(hides.operation, hides.resource, name, hides.instead)
        ]
        setattr(holder, hides.answered, shown)
