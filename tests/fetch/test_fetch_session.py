"""Fetch sessions (KIP-227): rules S1-S5, vectors F16-F19."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kcore.fetch.session import Ask, FetchSession, Verdict
from kcore.limits import MAX_INT32
from kcore.structs import TopicPartition
from kcore.wire.codes import ErrorCode

FOO0, FOO1, BAR0 = TopicPartition("foo", 0), TopicPartition("foo", 1), TopicPartition("bar", 0)
ID_A, ID_B, ID_BAR = b"a" * 16, b"b" * 16, b"r" * 16


def ask(tp: TopicPartition, offset: int = 0, topic_id: bytes | None = None) -> Ask:
    return Ask(tp, topic_id, offset, -1, 1000)


def wants(*asks: Ask) -> dict[TopicPartition, Ask]:
    return {one.tp: one for one in asks}


def opened(*asks: Ask, ids: bool = False, session_id: int = 123) -> FetchSession:
    session = FetchSession()
    session.next_request(wants(*asks), [], ids)
    verdict = session.take_answer(0, session_id, [one.tp for one in asks], throttled=False)
    assert verdict is Verdict.USE
    return session


def answer(session: FetchSession, tps: Iterable[TopicPartition], session_id: int = 123) -> Verdict:
    return session.take_answer(0, session_id, list(tps), throttled=False)


def test_s1_the_first_request_is_full_and_in_order() -> None:
    session = FetchSession()
    request = session.next_request(wants(ask(FOO1), ask(BAR0), ask(FOO0)), [], ids=False)
    assert (request.session_id, request.session_epoch, request.full) == (0, 0, True)
    assert [one.tp for one in request.send] == [FOO1, BAR0, FOO0]
    assert list(session.asks) == [FOO1, BAR0, FOO0]


def test_f16_changed_and_new_are_sent_and_move_to_the_end() -> None:
    session = opened(ask(FOO0, 0), ask(FOO1, 10))
    wanted = wants(ask(FOO0, 0), ask(FOO1, 11), ask(BAR0, 20))
    request = session.next_request(wanted, [FOO0, BAR0, FOO1], ids=False)
    assert (request.session_id, request.session_epoch, request.full) == (123, 1, False)
    assert request.send == [ask(BAR0, 20), ask(FOO1, 11)]
    assert request.forget == []
    assert list(session.asks) == [FOO0, BAR0, FOO1]


def test_s1_what_is_not_wanted_is_forgotten() -> None:
    session = opened(ask(FOO0), ask(FOO1), ask(BAR0))
    request = session.next_request(wants(ask(FOO1)), [FOO0, BAR0], ids=False)
    assert (request.send, request.forget) == ([], [(FOO0, None), (BAR0, None)])
    assert list(session.asks) == [FOO1]
    # Neither known nor wanted: came and went between two requests.
    answer(session, [])
    request = session.next_request({}, [FOO0], ids=False)
    assert (request.send, request.forget) == ([], [])


def test_f17_session_errors() -> None:
    session = opened(ask(FOO0), ask(FOO1))
    code = ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert session.take_answer(code, 0, [], throttled=False) is Verdict.RENEW
    request = session.next_request(wants(ask(FOO0), ask(FOO1)), [FOO0], ids=False)
    assert (request.session_id, request.session_epoch, request.full) == (123, 0, True)
    assert len(request.send) == 2

    code = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert session.take_answer(code, 0, [], throttled=False) is Verdict.RENEW
    request = session.next_request(wants(ask(FOO0), ask(FOO1)), [FOO0], ids=False)
    assert (request.session_id, request.session_epoch, request.full) == (0, 0, True)


@pytest.mark.parametrize(
    "answered",
    [[FOO0, FOO1], [FOO0, FOO1, BAR0, TopicPartition("x", 0)], None],
    ids=["lacks one", "has one more", "unreadable"],
)
@pytest.mark.parametrize("throttled", [False, True])
def test_f18_a_full_answer_has_exactly_what_was_asked(
    answered: list[TopicPartition] | None, throttled: bool
) -> None:
    session = opened()  # the session before is no more either
    session.renew()
    wanted = wants(ask(FOO0), ask(FOO1), ask(BAR0))
    session.next_request(wanted, [], ids=False)
    assert session.take_answer(0, 123, answered, throttled=throttled) is Verdict.BROKEN
    assert (session.id, session.epoch) == (0, 0)


def test_s3_throttled_and_empty_is_no_fault() -> None:
    session = opened(ask(FOO0))
    session.renew()
    session.next_request(wants(ask(FOO0)), [], ids=False)
    assert session.take_answer(0, 123, [], throttled=True) is Verdict.SKIP
    assert (session.id, session.epoch) == (0, 0)


def test_s3_empty_and_not_throttled_is_one() -> None:
    session = FetchSession()
    session.next_request(wants(ask(FOO0)), [], ids=False)
    assert session.take_answer(0, 123, [], throttled=False) is Verdict.BROKEN


@pytest.mark.parametrize("asks", [[], [ask(FOO0)]], ids=["of nothing", "of something"])
def test_s3_throttled_and_with_all_that_was_asked_is_used(asks: list[Ask]) -> None:
    session = FetchSession()
    session.next_request(wants(*asks), [], ids=False)
    answered = [one.tp for one in asks]
    assert session.take_answer(0, 123, answered, throttled=True) is Verdict.USE
    assert (session.id, session.epoch) == (123, 1)


def test_s3_no_session_has_a_negative_id() -> None:
    session = FetchSession()
    session.next_request(wants(ask(FOO0)), [], ids=False)
    assert answer(session, [FOO0], session_id=-2) is Verdict.BROKEN
    assert (session.id, session.epoch) == (0, 0)


def test_s3_no_session_is_offered() -> None:
    session = opened(ask(FOO0), session_id=0)
    request = session.next_request(wants(ask(FOO0, 5)), [FOO0], ids=False)
    assert (request.session_id, request.session_epoch, request.full) == (0, 0, True)


def test_s4_incremental_answers() -> None:
    session = opened(ask(FOO0), ask(FOO1))
    for epoch in (1, 2, 3):
        request = session.next_request({}, [], ids=False)
        assert (request.session_epoch, request.send) == (epoch, [])
        assert answer(session, [FOO1] if epoch % 2 else []) is Verdict.USE
    session.next_request({}, [], ids=False)
    assert answer(session, [BAR0]) is Verdict.BROKEN
    assert (session.id, session.epoch) == (123, 0)


def test_s4_the_epoch_wraps_to_one() -> None:
    session = opened(ask(FOO0))
    session.epoch = MAX_INT32
    assert session.next_request({}, [], ids=False).session_epoch == MAX_INT32
    assert answer(session, []) is Verdict.USE
    assert session.epoch == 1


def test_s4_session_ended_by_the_broker_or_another_one() -> None:
    session = opened(ask(FOO0))
    session.next_request({}, [], ids=False)
    assert answer(session, [FOO0], session_id=0) is Verdict.USE
    assert (session.id, session.epoch) == (0, 0)

    session = opened(ask(FOO0))
    session.next_request({}, [], ids=False)
    assert answer(session, [FOO0], session_id=9) is Verdict.BROKEN
    assert (session.id, session.epoch) == (123, 0)


def test_f19_a_topic_made_anew_is_replaced() -> None:
    session = opened(ask(FOO0, 0, ID_A), ids=True)
    request = session.next_request(wants(ask(FOO0, 0, ID_B)), [FOO0], ids=True)
    assert request.forget == [(FOO0, ID_A)]
    assert request.send == [ask(FOO0, 0, ID_B)]
    assert session.topic_of(ID_B) == "foo"
    assert session.topic_of(ID_BAR) is None


def test_f19_a_session_made_anew_knows_the_ids_of_before_no_more() -> None:
    session = opened(ask(FOO0, 0, ID_A), ids=True)
    session.renew()
    session.next_request(wants(ask(FOO0, 0, ID_B)), [FOO0], ids=True)
    assert (session.topic_of(ID_B), session.topic_of(ID_A)) == ("foo", None)


def test_f19_from_no_id_to_an_id_is_a_plain_update() -> None:
    session = opened(ask(FOO0, 0), ids=False)
    request = session.next_request(wants(ask(FOO0, 0, ID_A)), [FOO0], ids=False)
    assert (request.full, request.forget) == (False, [])
    assert request.send == [ask(FOO0, 0, ID_A)]


def test_f19_names_and_ids_never_share_a_session() -> None:
    session = opened(ask(FOO0, 0, ID_A), ids=True)
    wanted = wants(ask(FOO0, 0, ID_A), ask(BAR0, 0, None))
    request = session.next_request(wanted, [BAR0], ids=False)
    assert (request.session_id, request.session_epoch, request.full) == (123, 0, True)
    assert len(request.send) == 2


def test_s5_after_a_network_failure_the_session_is_replaced() -> None:
    session = opened(ask(FOO0))
    session.renew()
    request = session.next_request(wants(ask(FOO0)), [], ids=False)
    assert (request.session_id, request.session_epoch, request.full) == (123, 0, True)
