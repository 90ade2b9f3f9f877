"""`Transaction` with answers fed by hand: what is asked in which order, what each answer does."""

import pytest
from transaction_desk import T0, T1, Desk, S, begun, in_state, ready

from kcore import errors
from kcore.connection.calls import Reach
from kcore.errors import DisconnectedError
from kcore.produce.transaction import Step
from kcore.produce.transaction_effects import OUTDATED, Effect, effect_of
from kcore.produce.transaction_states import TABLE, TxnInput
from kcore.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from kcore.timers import NEVER
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

GROUP = ConsumerGroupMetadata("g", 3, "member", "instance")


# States and verbs ---------------------------------------------------------------------------------

VERBS = {
    TxnInput.INITIALIZE: lambda desk: desk.begin_verb(desk.transaction.initialize),
    TxnInput.BEGIN: lambda desk: desk.transaction.begin(),
    TxnInput.SEND: lambda desk: desk.transaction.check_open(),
    TxnInput.OFFSETS: lambda desk: desk.begin_verb(desk.transaction.send_offsets, GROUP, {}),
    TxnInput.COMMIT: lambda desk: desk.begin_verb(desk.transaction.commit),
    TxnInput.ABORT: lambda desk: desk.begin_verb(desk.transaction.abort),
}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
@pytest.mark.parametrize("state", S, ids=lambda state: state.name)
def test_every_verb_in_every_state(state, verb):
    desk = in_state(state)
    wanted = TABLE[state].get(verb)
    if wanted is not None:
        VERBS[verb](desk)
        assert desk.state is wanted
        return
    kind = errors.IllegalStateError
    if state is S.ABORTABLE_ERROR:
        kind = errors.TransactionAbortableError
    elif state is S.FATAL_ERROR:
        kind = errors.ProducerFencedError
    with pytest.raises(kind, match=verb.value) as caught:
        VERBS[verb](desk)
    assert (caught.value.__cause__ is not None) == (kind is not errors.IllegalStateError)
    assert desk.state is state


@pytest.mark.parametrize("state", S, ids=lambda state: state.name)
def test_records_come_in_the_quick_way_in_a_transaction_only(state):
    desk = in_state(state)
    before = desk.shut
    desk.transaction.close()
    left = desk.state is not state
    assert left == (state in {S.IN_TRANSACTION, S.ABORTABLE_ERROR})
    assert desk.shut - before >= left


@pytest.mark.parametrize("state", S, ids=lambda state: state.name)
def test_a_batch_that_fails(state):
    desk = in_state(state)
    desk.transaction.batch_failed(errors.RecordListTooLargeError("large"), broken=False)
    open_ = {S.IN_TRANSACTION, S.COMMITTING, S.ABORTING}
    assert desk.state is (TABLE[state][TxnInput.FAILED] if state in open_ else state)


# The order of what is asked -----------------------------------------------------------------------


def test_nothing_is_asked_before_it_is_wanted():
    desk = Desk()
    assert desk.transaction.deadline() == NEVER
    desk.nothing()
    desk = ready()
    desk.nothing()
    desk.transaction.begin()
    desk.nothing()
    assert desk.transaction.deadline() == NEVER


def test_what_is_asked_with_version_1():
    desk = ready()
    assert (desk.identity.producer_id, desk.identity.producer_epoch) == (5, 0)
    transaction = desk.transaction
    transaction.begin()
    assert transaction.explicit
    transaction.use(T0)
    assert not transaction.admits(T1)
    request = desk.add()
    assert desk.version == 3
    assert [topic.partitions for topic in request.v3_and_below_topics] == [[0, 1]]
    assert transaction.admits(T0)
    assert transaction.admits(T1)
    desk.nothing()
    offsets = {T0: OffsetAndMetadata(4, "four", 2)}
    operation = desk.begin_verb(transaction.send_offsets, GROUP, offsets)
    assert desk.add_offsets().group_id == "g"
    desk.find("g")
    request = desk.commit_offsets()
    assert desk.version == 4
    assert (request.member_id, request.generation_id_or_member_epoch) == ("member", 3)
    assert request.group_instance_id == "instance"
    (one,) = request.topics[0].partitions
    assert (one.committed_offset, one.committed_metadata, one.committed_leader_epoch) == (
        4,
        "four",
        2,
    )
    assert desk.ended[operation] is None
    again = desk.begin_verb(transaction.send_offsets, GROUP, offsets)
    desk.commit_offsets()  # the group takes part already
    assert desk.ended[again] is None
    desk.idle = False
    operation = desk.begin_verb(transaction.commit)
    desk.nothing()
    desk.idle = True
    request = desk.end()
    assert desk.version == 4
    assert (request.committed, request.producer_id, request.producer_epoch) == (True, 5, 0)
    assert desk.ended[operation] is None
    assert desk.state is S.READY
    assert (desk.identity.producer_id, desk.identity.producer_epoch) == (5, 0)
    transaction.heard()
    transaction.begin()
    assert not transaction.admits(T0)  # it is not part of this one


def test_what_is_asked_with_version_2():
    desk = ready(level=2)
    transaction = desk.transaction
    transaction.begin()
    assert not transaction.explicit
    assert transaction.admits(T0)
    desk.nothing()
    operation = desk.begin_verb(transaction.send_offsets, GROUP, {T0: OffsetAndMetadata(4, "")})
    desk.find("g")
    desk.commit_offsets()
    assert desk.version == 5
    assert desk.ended[operation] is None
    for epoch, verb in ((1, transaction.commit), (2, transaction.abort)):
        operation = desk.begin_verb(verb)
        request = desk.end(producer=(5, epoch))
        assert desk.version == 5
        assert request.committed == (epoch == 1)
        assert request.producer_epoch == epoch - 1
        assert (desk.identity.producer_id, desk.identity.producer_epoch) == (5, epoch)
        assert desk.ended[operation] is None
        transaction.heard()
        transaction.begin()
        assert transaction.admits(T0)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("end", ["commit", "abort"])
def test_what_was_never_begun_is_not_ended(level, end):
    desk = ready(level=level)
    desk.transaction.begin()
    operation = desk.begin_verb(getattr(desk.transaction, end))
    desk.nothing()
    assert desk.ended[operation] is None
    assert desk.state is S.READY


def test_offsets_alone_are_a_transaction():
    desk = ready(level=2)
    desk.transaction.begin()
    desk.begin_verb(desk.transaction.send_offsets, GROUP, {T0: OffsetAndMetadata(4, "")})
    desk.find("g")
    desk.commit_offsets()
    desk.begin_verb(desk.transaction.commit)
    assert desk.end().committed


# Answers that are lost ----------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("committed", [True, False])
def test_an_end_that_nobody_answers_is_asked_for_again_as_it_was(level, committed):
    desk = begun(level=level)
    transaction = desk.transaction
    operation = desk.begin_verb(transaction.commit if committed else transaction.abort)
    first = desk.request(ApiKey.END_TXN)
    desk.fail(DisconnectedError("gone"))
    desk.find()
    second = desk.end(producer=(5, 1) if level else (-1, -1))
    for request in (first, second):
        assert (request.committed, request.producer_epoch) == (committed, 0)
    assert desk.ended[operation] is None


def test_partitions_that_nobody_answered_for_are_known_before_the_end():
    desk = ready()
    transaction = desk.transaction
    transaction.begin()
    transaction.use(T0)
    desk.request(ApiKey.ADD_PARTITIONS_TO_TXN)
    transaction.use(T1)
    operation = desk.begin_verb(transaction.abort)
    desk.fail(DisconnectedError("gone"))
    desk.find()
    request = desk.add()
    assert [topic.partitions for topic in request.v3_and_below_topics] == [[0]]
    assert not desk.end().committed
    assert desk.ended[operation] is None


def test_a_group_that_nobody_answered_for_is_known_before_the_end():
    desk = ready()
    transaction = desk.transaction
    transaction.begin()
    asked = desk.begin_verb(transaction.send_offsets, GROUP, {T0: OffsetAndMetadata(4, "")})
    desk.request(ApiKey.ADD_OFFSETS_TO_TXN)
    operation = desk.begin_verb(transaction.abort)
    assert isinstance(desk.ended[asked], errors.TransactionAbortedError)
    desk.fail(DisconnectedError("gone"))
    desk.find()
    desk.add_offsets()
    assert not desk.end().committed
    assert desk.ended[operation] is None


def test_partitions_of_a_topic_that_is_gone_do_not_hold_up_an_abort():
    desk = ready()
    transaction = desk.transaction
    transaction.begin()
    transaction.use(T0)
    desk.add(E.UNKNOWN_TOPIC_OR_PARTITION)
    assert desk.state is S.IN_TRANSACTION  # the batch's time runs out
    operation = desk.begin_verb(transaction.abort)
    desk.add(E.UNKNOWN_TOPIC_OR_PARTITION)
    request = desk.init(producer=(5, 1))  # if an earlier one has, this ends it
    assert (request.producer_id, request.producer_epoch) == (5, 0)
    assert desk.ended[operation] is None


def test_partitions_that_perhaps_take_part_are_asked_for_until_the_coordinator_can_tell():
    desk = ready(init_version=1)  # nothing but an end of it would end it
    transaction = desk.transaction
    transaction.begin()
    transaction.use(T0)
    desk.request(ApiKey.ADD_PARTITIONS_TO_TXN)
    operation = desk.begin_verb(transaction.abort)
    desk.fail(DisconnectedError("gone"))  # it may have taken them
    desk.find()
    desk.add(E.COORDINATOR_LOAD_IN_PROGRESS)
    desk.add()
    assert not desk.end().committed
    assert desk.ended[operation] is None


def test_a_coordinator_that_cannot_be_reached_is_looked_up_again():
    desk = begun()
    desk.begin_verb(desk.transaction.commit)
    desk.links.reachable = Reach.BACKOFF
    desk.find()
    desk.links.reachable = Reach.READY
    desk.end()
    assert desk.state is S.READY


UNKNOWN = m.FindCoordinatorResponse.Coordinator(key="y", node_id=7, host="h", port=9)


def test_a_look_up_that_makes_no_sense_is_repeated():
    desk = Desk()
    desk.begin_verb(desk.transaction.initialize)
    found = m.FindCoordinatorResponse.Coordinator
    for one in (
        UNKNOWN,
        found(key="x", node_id=-1, host="h", port=9),
        found(key="x", node_id=7, host="", port=9),
        found(key="x", node_id=7, host="h", port=0),
        found(key="x", node_id=7, host="h", port=65_536),
    ):
        desk.request(ApiKey.FIND_COORDINATOR)
        desk.answer(m.FindCoordinatorResponse(coordinators=[one]))
    desk.find(code=E.COORDINATOR_NOT_AVAILABLE)
    desk.find()
    desk.init()
    assert desk.state is S.READY


def test_a_producer_id_that_is_none_is_asked_for_again():
    desk = Desk()
    operation = desk.begin_verb(desk.transaction.initialize)
    desk.find()
    request = desk.init(producer=(-1, -1))
    assert (request.producer_id, request.producer_epoch) == (-1, -1)  # it is nobody yet
    assert operation not in desk.ended
    assert 80 <= desk.transaction.deadline() - desk.now <= 120
    desk.init()
    assert desk.ended[operation] is None


@pytest.mark.parametrize(
    "answer",
    [
        lambda desk: desk.fail(DisconnectedError("gone")),
        lambda desk: desk.answer(m.FindCoordinatorResponse(coordinators=[UNKNOWN])),
    ],
    ids=["nobody answers", "no sense"],
)
def test_a_look_up_in_vain_is_repeated_after_a_pause(answer):
    desk = Desk()
    desk.begin_verb(desk.transaction.initialize)
    desk.request(ApiKey.FIND_COORDINATOR)
    answer(desk)
    assert 80 <= desk.transaction.deadline() - desk.now <= 120
    desk.find()


@pytest.mark.parametrize(
    ("key", "whose"), [("x", "transactional id 'x'"), ("g", "group 'g'")], ids=["own", "group"]
)
def test_a_look_up_that_is_refused_says_whose_it_was_and_what_the_broker_says(key, whose):
    for message, said in (("not yours", "not yours"), (None, "no coordinator was found")):
        desk = Desk() if key == "x" else begun(level=2)
        if key == "x":
            operation = desk.begin_verb(desk.transaction.initialize)
        else:
            offsets = {T0: OffsetAndMetadata(4, "")}
            operation = desk.begin_verb(desk.transaction.send_offsets, GROUP, offsets)
        desk.request(ApiKey.FIND_COORDINATOR)
        found = m.FindCoordinatorResponse.Coordinator(
            key=key, error_code=E.INVALID_REQUEST, error_message=message
        )
        desk.answer(m.FindCoordinatorResponse(coordinators=[found]))
        assert f"{whose}: {said}" in str(desk.ended[operation])


@pytest.mark.parametrize(
    "step", [Step.ADD_PARTITIONS, Step.ADD_OFFSETS, Step.COMMIT_OFFSETS], ids=lambda one: one.name
)
def test_what_was_done_at_last_stands_in_nobodys_way(step):
    desk, _, answer = asked(step.value)
    for _ in range(3):
        answer(E.COORDINATOR_LOAD_IN_PROGRESS)
    assert isinstance(desk.transaction.hindrance, errors.CoordinatorLoadInProgressError)
    answer()
    assert desk.transaction.hindrance is None
    if step is Step.ADD_OFFSETS:
        return  # the next is asked of the group's coordinator
    desk.begin_verb(desk.transaction.commit)
    desk.end(E.COORDINATOR_LOAD_IN_PROGRESS)
    assert 80 <= desk.transaction.deadline() - desk.now <= 120  # as if it were the first


def test_backoffs_grow_and_begin_anew():
    desk = begun(retry_backoff_ms=100, retry_backoff_max_ms=1_000)
    desk.begin_verb(desk.transaction.commit)
    waits = []
    for _ in range(5):
        at = desk.now
        desk.end(E.COORDINATOR_LOAD_IN_PROGRESS)
        waits.append(desk.transaction.deadline() - max(at, desk.now))
    assert 80 <= waits[0] <= 120
    assert waits == sorted(waits)
    assert 800 <= waits[-1] <= 1_000
    desk.end()
    desk.transaction.heard()
    desk.transaction.begin()
    desk.transaction.use(T0)
    desk.add(E.CONCURRENT_TRANSACTIONS)  # the markers of the last one are being written
    assert desk.transaction.deadline() - desk.now <= 25


# Every code of every answer -----------------------------------------------------------------------

CODES = [code for code in E if code]


def asked(api):
    """A desk at which this is asked next, and what answers it with a code."""
    desk = Desk() if api is ApiKey.INIT_PRODUCER_ID else begun()
    transaction = desk.transaction
    if api is ApiKey.INIT_PRODUCER_ID:
        operation = desk.begin_verb(transaction.initialize)
        desk.find()
        return desk, operation, desk.init
    if api is ApiKey.ADD_PARTITIONS_TO_TXN:
        transaction.use(T1)
        return desk, None, desk.add
    if api is ApiKey.END_TXN:
        return desk, desk.begin_verb(transaction.commit), desk.end
    operation = desk.begin_verb(transaction.send_offsets, GROUP, {T0: OffsetAndMetadata(4, "")})
    if api is ApiKey.ADD_OFFSETS_TO_TXN:
        return desk, operation, desk.add_offsets
    desk.add_offsets()
    desk.find("g")
    return desk, operation, desk.commit_offsets


@pytest.mark.parametrize("step", [step for step in Step if step is not Step.COMPLETE])
def test_every_code_of_every_answer(step):
    api = step.value
    for code in CODES:
        desk, operation, answer = asked(api)
        before = desk.state
        answer(code)
        effect = effect_of(api, code)
        error = desk.ended.get(operation)
        if effect in (Effect.RETRY, Effect.MOVED):
            assert desk.state is before, code
            assert error is None, code
            assert operation not in desk.ended, code
            if effect is Effect.MOVED:
                desk.find("g" if step is Step.COMMIT_OFFSETS else "x")
            answer()
            assert desk.ended.get(operation) is None, code
            continue
        check_failed(desk, step, effect, code, operation)
        if desk.state is S.ABORTABLE_ERROR:
            operation = desk.begin_verb(desk.transaction.abort)
            desk.end()
            if effect is Effect.BUMP:
                assert desk.init(producer=(5, 1)).producer_id == 5
            assert desk.ended[operation] is None, code
            assert desk.state is S.READY, code


def check_failed(desk, step, effect, code, operation):
    """The state after a refusal, and what whoever asked for it is told."""
    error = desk.ended.get(operation)
    fatal = effect in (Effect.FENCED, Effect.FATAL)
    failed = S.UNINITIALIZED if step is Step.INIT else S.ABORTABLE_ERROR
    assert desk.state is (S.FATAL_ERROR if fatal else failed), code
    wanted = errors.for_code(code)
    if effect is Effect.FENCED:
        wanted = errors.ProducerFencedError
        assert isinstance(desk.transaction.fatal_error.__cause__, errors.for_code(code)), code
    elif not fatal and step is Step.END:
        wanted = errors.TransactionAbortableError
    elif not fatal and step is Step.COMMIT_OFFSETS and code in OUTDATED:
        wanted = errors.CommitFailedError
    if operation is not None:
        assert isinstance(error, wanted), code


@pytest.mark.parametrize("kind", ["x", "g"])
def test_every_code_of_a_look_up(kind):
    for code in CODES:
        desk = Desk() if kind == "x" else begun(level=2)
        transaction = desk.transaction
        if kind == "x":
            operation = desk.begin_verb(transaction.initialize)
        else:
            offsets = {T0: OffsetAndMetadata(4, "")}
            operation = desk.begin_verb(transaction.send_offsets, GROUP, offsets)
        desk.find(kind, code)
        effect = effect_of(ApiKey.FIND_COORDINATOR, code)
        if effect is Effect.RETRY:
            assert operation not in desk.ended, code
            desk.find(kind)
        elif effect is Effect.ABORT:
            assert isinstance(desk.ended[operation], errors.for_code(code)), code
            assert desk.state is (S.UNINITIALIZED if kind == "x" else S.ABORTABLE_ERROR), code
        else:
            assert isinstance(desk.ended[operation], errors.for_code(code)), code
            assert desk.state is S.FATAL_ERROR, code


MIXED = [
    (
        (E.OPERATION_NOT_ATTEMPTED, E.TOPIC_AUTHORIZATION_FAILED),
        errors.TopicAuthorizationFailedError,
    ),
    ((E.OPERATION_NOT_ATTEMPTED, E.UNKNOWN_TOPIC_OR_PARTITION), None),
    ((E.NONE, E.COORDINATOR_LOAD_IN_PROGRESS), None),
    ((E.PRODUCER_FENCED, E.UNKNOWN_TOPIC_OR_PARTITION), errors.ProducerFencedError),
    ((E.INVALID_TXN_STATE, E.TOPIC_AUTHORIZATION_FAILED), errors.InvalidTxnStateError),
]


@pytest.mark.parametrize(("codes", "kind"), MIXED)
@pytest.mark.parametrize("turned", [False, True])
def test_partitions_that_are_answered_differently(codes, kind, turned):
    desk = ready()
    desk.transaction.begin()
    desk.transaction.use(T0)
    desk.transaction.use(T1)
    desk.add(*(reversed(codes) if turned else codes))
    error = desk.transaction._error
    if kind is None:
        assert error is None
        desk.add()
        assert desk.transaction.admits(T0)
        assert desk.transaction.admits(T1)
        return
    assert type(error) is kind
    if kind is errors.TopicAuthorizationFailedError:
        assert error.topics == {"t"}
        assert f"t-{0 if turned else 1} cannot" in str(error)


def test_only_topics_that_were_refused_are_named():
    desk = ready()
    desk.transaction.begin()
    for topic in "tu":
        desk.transaction.use(TopicPartition(topic, 0))
    request = desk.request(ApiKey.ADD_PARTITIONS_TO_TXN)
    R = m.AddPartitionsToTxnResponse
    codes = {"t": E.OPERATION_NOT_ATTEMPTED, "u": E.TOPIC_AUTHORIZATION_FAILED}
    answers = []
    for topic in request.v3_and_below_topics:
        one = R.AddPartitionsToTxnPartitionResult(
            partition_index=0, partition_error_code=codes[topic.name]
        )
        answers.append(R.AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=[one]))
    desk.answer(R(results_by_topic_v3_and_below=answers))
    with pytest.raises(errors.TransactionAbortableError, match="u-0 cannot") as caught:
        desk.transaction.check_open()
    assert caught.value.__cause__.topics == {"u"}


def test_a_partition_that_is_left_out_of_the_answer():
    desk = ready()
    desk.transaction.begin()
    desk.transaction.use(T0)
    desk.request(ApiKey.ADD_PARTITIONS_TO_TXN)
    desk.answer(m.AddPartitionsToTxnResponse())
    assert desk.state is S.ABORTABLE_ERROR


def test_offsets_that_were_taken_are_not_sent_again():
    desk = begun(level=2)
    offsets = {T0: OffsetAndMetadata(4, ""), T1: OffsetAndMetadata(5, "")}
    operation = desk.begin_verb(desk.transaction.send_offsets, GROUP, offsets)
    desk.find("g")
    desk.commit_offsets(0, E.UNKNOWN_TOPIC_OR_PARTITION)
    request = desk.commit_offsets()
    assert [one.partition_index for one in request.topics[0].partitions] == [1]
    assert desk.ended[operation] is None


@pytest.mark.parametrize(
    ("codes", "kind"),
    [
        ((E.PRODUCER_FENCED, E.COORDINATOR_LOAD_IN_PROGRESS), errors.ProducerFencedError),
        ((E.GROUP_AUTHORIZATION_FAILED, E.NONE), errors.GroupAuthorizationFailedError),
        ((E.ILLEGAL_GENERATION, E.COORDINATOR_LOAD_IN_PROGRESS), errors.CommitFailedError),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_offsets_that_are_answered_differently(codes, kind, turned):
    """What no later try can cure counts."""
    desk = begun(level=2)
    offsets = {T0: OffsetAndMetadata(4, ""), T1: OffsetAndMetadata(5, "")}
    desk.begin_verb(desk.transaction.send_offsets, GROUP, offsets)
    desk.find("g")
    desk.commit_offsets(*(reversed(codes) if turned else codes))
    assert type(desk.transaction._error) is kind


def test_nobody_is_asked_twice_nor_before_the_pause_is_over():
    desk = Desk()
    desk.begin_verb(desk.transaction.initialize)
    desk.transaction.handle_tick(desk.now)
    assert len(desk.links.asked) == 1
    desk.transaction.handle_tick(desk.now + 60_000)  # not answered yet
    assert desk.transaction.deadline() == NEVER
    desk.find()
    desk.init(E.COORDINATOR_LOAD_IN_PROGRESS)
    desk.transaction.handle_tick(desk.now)
    assert desk.links.asked == []
    desk.transaction.handle_tick(desk.transaction.deadline())
    assert len(desk.links.asked) == 1


@pytest.mark.parametrize("level", [0, 2])
def test_the_first_producer_id_of_a_cluster_is_one(level):
    desk = Desk(level=level)
    operation = desk.begin_verb(desk.transaction.initialize)
    desk.find()
    desk.init(producer=(0, 0))
    assert desk.ended == {operation: None}
    desk.transaction.heard()
    assert (desk.identity.producer_id, desk.identity.producer_epoch) == (0, 0)
    desk.transaction.begin()
    desk.transaction.use(T0)
    if level == 0:
        desk.add()
    assert desk.transaction.admits(T0)
    desk.begin_verb(desk.transaction.commit)
    desk.end(producer=(0, 1))
    assert (desk.identity.producer_id, desk.identity.producer_epoch) == (0, level // 2)
