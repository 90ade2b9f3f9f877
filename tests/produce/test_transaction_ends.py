"""`Transaction` with answers fed by hand: epochs, who waits for which end, what comes too late."""

import functools

import pytest
from transaction_desk import T0, T1, Desk, S, begun, ready

from kcore import errors
from kcore.connection.calls import Reach
from kcore.errors import DisconnectedError, UnsupportedVersionError
from kcore.structs import ConsumerGroupMetadata, OffsetAndMetadata
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

GROUP = ConsumerGroupMetadata("g", 3, "member", None)
OFFSETS = {T0: OffsetAndMetadata(4, "")}


# Epochs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", [False, True])
def test_a_batch_that_failed_costs_the_epoch(broken):
    desk = begun()
    transaction = desk.transaction
    transaction.batch_failed(errors.KafkaTimeoutError("late"), broken=broken)
    assert isinstance(transaction.batch_error, errors.TransactionAbortedError)
    operation = desk.begin_verb(transaction.abort)
    desk.end()
    desk.init(E.CONCURRENT_TRANSACTIONS)
    request = desk.init(producer=(5, 1))
    assert (request.producer_id, request.producer_epoch) == (5, 0)
    assert desk.ended[operation] is None
    assert desk.identity.producer_epoch == 1
    transaction.heard()
    transaction.begin()
    assert transaction.batch_error is None


def test_a_batch_that_fails_behind_something_else_costs_the_epoch():
    desk = begun()
    desk.begin_verb(desk.transaction.send_offsets, GROUP, {T0: OffsetAndMetadata(4, "")})
    desk.add_offsets(E.GROUP_AUTHORIZATION_FAILED)
    assert desk.state is S.ABORTABLE_ERROR
    desk.transaction.batch_failed(errors.KafkaTimeoutError("late"), broken=True)
    operation = desk.begin_verb(desk.transaction.abort)
    desk.end()
    assert desk.init(producer=(5, 1)).producer_epoch == 0
    assert desk.ended[operation] is None


def test_a_batch_that_fails_while_it_is_aborted_costs_the_epoch():
    desk = begun()
    desk.idle = False  # a batch is on its way
    operation = desk.begin_verb(desk.transaction.abort)
    desk.transaction.batch_failed(errors.KafkaTimeoutError("late"), broken=True)
    desk.idle = True
    desk.end()
    assert desk.init(producer=(5, 1)).producer_epoch == 0
    assert desk.ended[operation] is None


def test_a_batch_that_failed_costs_none_where_each_end_gives_one():
    desk = begun(level=2)
    desk.transaction.batch_failed(errors.KafkaTimeoutError("late"), broken=True)
    operation = desk.begin_verb(desk.transaction.abort)
    desk.end(producer=(6, 0))
    assert desk.ended[operation] is None
    assert (desk.identity.producer_id, desk.identity.producer_epoch) == (6, 0)


def test_an_end_that_gives_no_epoch_leaves_it_as_it_is():
    desk = begun(level=2)
    operation = desk.begin_verb(desk.transaction.commit)
    desk.end(producer=(-1, -1))
    assert desk.ended[operation] is None
    assert (desk.identity.producer_id, desk.identity.producer_epoch) == (5, 0)


def test_a_producer_that_needs_another_epoch_and_cannot_have_one_is_at_its_end():
    desk = begun(init_version=1)
    operation = desk.begin_verb(desk.transaction.commit)
    desk.end(E.UNKNOWN_PRODUCER_ID)
    assert desk.state is S.FATAL_ERROR
    assert isinstance(desk.ended[operation], errors.UnknownProducerIdError)


@pytest.mark.parametrize("init_version", [3, 4, 5])
def test_brokers_give_another_epoch_from_2_5_on(init_version):
    desk = begun(init_version=init_version)
    operation = desk.begin_verb(desk.transaction.commit)
    desk.end(E.UNKNOWN_PRODUCER_ID)
    assert desk.state is S.ABORTABLE_ERROR
    assert isinstance(desk.ended[operation], errors.TransactionAbortableError)
    operation = desk.begin_verb(desk.transaction.abort)
    desk.end()
    desk.init(producer=(5, 1))
    assert desk.ended[operation] is None


@pytest.mark.parametrize("broken", [False, True])
def test_brokers_that_give_no_other_epoch(broken):
    desk = begun(init_version=1)
    for so in (broken, False):
        desk.transaction.batch_failed(errors.RecordListTooLargeError("large"), broken=so)
    operation = desk.begin_verb(desk.transaction.abort)
    desk.end()
    if not broken:
        assert desk.ended[operation] is None
        return
    with pytest.raises(UnsupportedVersionError, match=r"before 2\.5") as caught:
        desk.request(ApiKey.INIT_PRODUCER_ID)
    desk.fail(caught.value)
    assert desk.state is S.FATAL_ERROR
    assert isinstance(desk.ended[operation], UnsupportedVersionError)


def test_group_metadata_that_brokers_cannot_judge():
    desk = begun()
    desk.links.highest[ApiKey.TXN_OFFSET_COMMIT] = 2
    offsets = {T0: OffsetAndMetadata(4, "")}
    desk.begin_verb(desk.transaction.send_offsets, ConsumerGroupMetadata("g"), offsets)
    desk.add_offsets()
    desk.find("g")
    desk.commit_offsets()
    desk.begin_verb(desk.transaction.send_offsets, GROUP, offsets)
    with pytest.raises(UnsupportedVersionError, match="group id instead"):
        desk.request(ApiKey.TXN_OFFSET_COMMIT)


def test_an_abort_that_is_refused_is_ended_by_the_next_epoch():
    for level in (0, 2):
        desk = begun(level=level)
        operation = desk.begin_verb(desk.transaction.abort)
        desk.end(E.TRANSACTION_ABORTABLE)
        assert operation not in desk.ended
        assert 80 <= desk.transaction.deadline() - desk.now <= 120
        desk.init(producer=(5, 1))
        assert desk.ended[operation] is None
        assert desk.identity.producer_epoch == 1


@pytest.mark.parametrize("init_version", [1, 5])
def test_an_abort_that_nothing_ends(init_version):
    desk = begun(init_version=init_version)
    operation = desk.begin_verb(desk.transaction.abort)
    desk.end(E.TRANSACTION_ABORTABLE)
    if init_version == 5:  # the next epoch may end it
        desk.init(E.TRANSACTION_ABORTABLE)
    desk.nothing()
    assert desk.state is S.FATAL_ERROR
    assert isinstance(desk.ended[operation], errors.TransactionAbortableError)


# Who waits ----------------------------------------------------------------------------------------


def test_a_begin_that_nobody_has_heard_of_is_told_to_who_asks_again():
    desk = Desk()
    first = desk.begin_verb(desk.transaction.initialize)
    desk.find()
    desk.init()
    second = desk.begin_verb(desk.transaction.initialize)
    assert desk.ended == {first: None, second: None}
    desk.nothing()
    desk.transaction.heard()
    with pytest.raises(errors.IllegalStateError):
        desk.begin_verb(desk.transaction.initialize)


def test_an_end_that_nobody_has_heard_of_is_none_of_the_next_transaction():
    desk = begun()
    desk.begin_verb(desk.transaction.abort)
    desk.end()
    desk.transaction.begin()
    desk.transaction.use(T0)
    desk.add()
    abort = desk.begin_verb(desk.transaction.abort)
    assert abort not in desk.ended
    assert not desk.end().committed
    assert desk.ended[abort] is None


def test_a_transaction_fails_for_its_own_reason():
    desk = begun(level=2)
    for epoch, reason in ((1, "first"), (2, "second")):
        desk.transaction.batch_failed(errors.KafkaTimeoutError(reason), broken=True)
        assert reason in str(desk.transaction.batch_error)
        with pytest.raises(errors.TransactionAbortableError, match=reason):
            desk.begin_verb(desk.transaction.commit)
        desk.begin_verb(desk.transaction.abort)
        desk.end(producer=(5, epoch))
        desk.transaction.heard()
        desk.transaction.begin()
        assert desk.transaction.admits(T0)


def test_what_is_given_up_with_a_transaction_that_was_aborted_has_no_other_reason():
    desk = begun()
    desk.begin_verb(desk.transaction.abort)
    assert str(desk.transaction.batch_error) == "the transaction was aborted before this was sent"


def test_a_partition_is_added_once_however_many_batches_there_are():
    desk = begun()
    desk.transaction.use(T0)
    desk.nothing()


def test_a_commit_that_nobody_has_heard_of_is_told_before_the_next_begins():
    desk = begun()
    desk.begin_verb(desk.transaction.commit)
    desk.end()
    with pytest.raises(errors.IllegalStateError, match="commit_transaction again"):
        desk.transaction.begin()
    desk.transaction.heard()
    desk.transaction.begin()


def test_all_who_wait_for_the_same_end_are_told():
    desk = begun()
    first, second = (desk.begin_verb(desk.transaction.commit) for _ in range(2))
    desk.end()
    third = desk.begin_verb(desk.transaction.commit)  # nobody has heard of it yet
    assert desk.ended == {1: None, first: None, second: None, third: None}
    desk.transaction.heard()
    with pytest.raises(errors.IllegalStateError):
        desk.begin_verb(desk.transaction.commit)


def test_a_commit_that_was_not_asked_for_yet_can_be_aborted():
    desk = begun()
    desk.idle = False
    commit = desk.begin_verb(desk.transaction.commit)
    abort = desk.begin_verb(desk.transaction.abort)
    assert isinstance(desk.ended[commit], errors.TransactionAbortedError)
    desk.idle = True
    assert not desk.end().committed
    assert desk.ended[abort] is None


def test_a_commit_that_was_asked_for_cannot_be_aborted():
    desk = begun()
    desk.begin_verb(desk.transaction.commit)
    desk.request(ApiKey.END_TXN)
    for _ in range(2):
        with pytest.raises(errors.IllegalStateError, match="commit_transaction again"):
            desk.begin_verb(desk.transaction.abort)
        desk.fail(DisconnectedError("gone"))  # it may be committed
        desk.find()
        desk.request(ApiKey.END_TXN)


def test_an_answer_that_comes_when_all_is_over_changes_nothing():
    desk = begun()
    desk.begin_verb(desk.transaction.commit)
    desk.request(ApiKey.END_TXN)
    desk.transaction.batch_failed(errors.ProducerFencedError("fenced"), broken=False)
    desk.answer(m.EndTxnResponse())
    assert desk.state is S.FATAL_ERROR
    assert isinstance(desk.transaction.fatal_error, errors.ProducerFencedError)
    desk.nothing()


def test_who_waits_at_the_end_is_told():
    desk = begun()
    commit = desk.begin_verb(desk.transaction.commit)
    desk.transaction.give_up(errors.ProducerClosed("closed"))
    assert isinstance(desk.ended[commit], errors.ProducerClosed)


def test_offsets_that_are_answered_when_the_transaction_is_aborted():
    desk = begun(level=2)
    offsets = {T0: OffsetAndMetadata(4, "")}
    asked_for = desk.begin_verb(desk.transaction.send_offsets, GROUP, offsets)
    desk.find("g")
    request = desk.request(ApiKey.TXN_OFFSET_COMMIT)
    operation = desk.begin_verb(desk.transaction.abort)
    assert isinstance(desk.ended[asked_for], errors.TransactionAbortedError)
    desk.nothing()  # it is under way, and belongs to this transaction
    R = m.TxnOffsetCommitResponse
    one = R.TxnOffsetCommitResponsePartition(partition_index=0, error_code=E.ILLEGAL_GENERATION)
    desk.answer(R(topics=[R.TxnOffsetCommitResponseTopic(name="t", partitions=[one])]))
    assert desk.end(producer=(5, 1)).producer_epoch == request.producer_epoch
    assert desk.ended[operation] is None


def test_partitions_that_are_refused_when_the_transaction_is_aborted():
    desk = begun()
    desk.transaction.use(T1)
    desk.request(ApiKey.ADD_PARTITIONS_TO_TXN)
    operation = desk.begin_verb(desk.transaction.abort)
    desk.fail(DisconnectedError("gone"))
    desk.find()
    desk.add(E.TOPIC_AUTHORIZATION_FAILED)
    desk.end()
    desk.init(producer=(5, 1))
    assert desk.ended[operation] is None


def test_nobody_can_be_asked():
    desk = Desk()
    desk.begin_verb(desk.transaction.initialize)
    desk.links.least_loaded = lambda _now_ms: None
    desk.links.next_retry_at = lambda: 500
    desk.nothing()
    assert desk.transaction.deadline() == 500
    del desk.links.least_loaded
    desk.find()
    desk.init()
    assert desk.state is S.READY


def _cut_off(desk):
    """The coordinator is gone, and there is nobody to ask who is it now before 500."""
    desk.links.reachable = Reach.BACKOFF
    desk.links.least_loaded = lambda _now_ms: None
    desk.links.next_retry_at = lambda: 500
    desk.transaction.handle_tick(desk.now)


def test_a_coordinator_that_is_the_same_and_cannot_be_reached_is_not_looked_up_at_once():
    desk = begun()
    desk.begin_verb(desk.transaction.commit)
    desk.links.reachable = Reach.BACKOFF
    desk.find()
    for least_ms in (80, 160, 320):
        desk.transaction.handle_tick(desk.now)
        assert not desk.links.asked
        assert desk.transaction.deadline() - desk.now >= least_ms
        desk.now = desk.transaction.deadline()
        desk.find()
    desk.links.reachable = Reach.READY
    desk.end()
    assert desk.state is S.READY


def test_a_coordinator_that_is_gone_is_looked_up_when_somebody_can_be_asked():
    desk = begun()
    desk.begin_verb(desk.transaction.commit)
    _cut_off(desk)
    desk.nothing()
    assert desk.transaction.deadline() == 500


def test_a_transaction_of_nothing_ends_without_its_coordinator():
    desk = ready()
    desk.transaction.begin()
    desk.transaction.use(T0)
    _cut_off(desk)
    operation = desk.begin_verb(desk.transaction.abort)
    assert desk.transaction.deadline() <= desk.now
    desk.transaction.handle_tick(desk.now)
    assert desk.ended[operation] is None
    desk.links.level = 2  # which nobody has said who coordinates now
    desk.transaction.heard()
    desk.transaction.begin()
    assert desk.transaction.explicit


@pytest.mark.parametrize("level", [0, 2])
def test_an_end_that_was_asked_for_when_ctrl_c_struck_is_asked_for_again(level):
    desk = begun(level=level)
    operation = desk.begin_verb(desk.transaction.commit)
    desk.request(ApiKey.END_TXN)
    desk.transaction.mend()  # no answer to it counts any more
    assert operation not in desk.ended
    assert desk.end().committed
    assert desk.ended[operation] is None


def test_what_an_abort_gives_up_is_not_asked_for_though_ctrl_c_struck_it():
    desk = ready()
    desk.transaction.begin()
    desk.transaction.use(T0)

    def strike():
        raise KeyboardInterrupt

    desk.transaction._closed = strike
    with pytest.raises(KeyboardInterrupt):
        desk.begin_verb(desk.transaction.abort)
    desk.transaction._closed = desk._shut
    desk.transaction.mend()
    desk.nothing()
    assert desk.state is S.READY


def test_a_second_begin_that_is_refused_is_told_why_and_not_why_the_first_was():
    desk = Desk()
    desk.begin_verb(desk.transaction.initialize)
    desk.find()
    desk.init(E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    second = desk.begin_verb(desk.transaction.initialize)
    desk.init(E.CLUSTER_AUTHORIZATION_FAILED)
    assert isinstance(desk.ended[second], errors.ClusterAuthorizationFailedError)
    with pytest.raises(errors.IllegalStateError, match="init_transactions first"):
        desk.transaction.begin()


@pytest.mark.parametrize("level", [0, 2])
def test_batches_of_no_other_partition_go_out_once_a_transaction_has_failed(level):
    desk = begun(level=level)
    desk.transaction.batch_failed(errors.RecordListTooLargeError("large"), broken=False)
    assert desk.transaction.admits(T0)  # what takes part may have batches that were sent before
    assert not desk.transaction.admits(T1)
    desk.begin_verb(desk.transaction.abort)
    assert not desk.transaction.admits(T1)
    desk.end()  # and nobody was asked to have it take part


@pytest.mark.parametrize("level", [0, 2])
def test_the_version_is_kept_while_the_coordinator_cannot_be_asked(level):
    desk = ready(level=level)
    desk.links.level = 2 - level
    desk.links.version_of = lambda *_: None  # its link was idle, and is closed
    desk.transaction.begin()
    assert desk.transaction.explicit == (level == 0)
    desk.begin_verb(desk.transaction.commit)
    desk.nothing()
    desk.transaction.heard()
    del desk.links.version_of
    desk.transaction.begin()
    if level == 0:
        desk.init(producer=(5, 1))
    assert desk.transaction.explicit == (level == 2)


def upgraded(**options):
    """Brokers know `transaction.version` 2 since the last transaction, and another one is begun."""
    desk = begun(**options)
    operation = desk.begin_verb(desk.transaction.commit)
    desk.end()
    assert desk.ended[operation] is None
    desk.transaction.heard()
    desk.links.level = 2
    desk.transaction.begin()
    return desk


def test_what_is_sent_implicitly_has_another_epoch_than_what_was_not():
    """Its partitions may be open still in the last transaction, which would take it in."""
    desk = upgraded()
    assert not desk.transaction.admits(T0)
    assert desk.init(producer=(5, 1)).producer_epoch == 0
    assert (desk.identity.producer_id, desk.identity.producer_epoch) == (5, 1)
    assert desk.transaction.admits(T0)
    assert not desk.transaction.explicit
    operation = desk.begin_verb(desk.transaction.commit)
    assert desk.end(producer=(5, 2)).producer_epoch == 1
    assert desk.ended[operation] is None
    desk.transaction.heard()
    desk.transaction.begin()
    desk.nothing()
    assert desk.identity.producer_epoch == 2


def test_nor_have_offsets_that_are_sent_first():
    desk = upgraded()
    operation = desk.begin_verb(desk.transaction.send_offsets, GROUP, OFFSETS)
    desk.init(producer=(5, 1))
    desk.find("g")
    assert desk.commit_offsets().producer_epoch == 1
    assert desk.ended[operation] is None


def test_an_epoch_for_that_is_asked_for_until_it_is_given():
    desk = upgraded()
    desk.init(E.CONCURRENT_TRANSACTIONS)
    desk.request(ApiKey.INIT_PRODUCER_ID)
    desk.fail(errors.DisconnectedError("lost"))
    assert not desk.transaction.admits(T0)
    desk.find()
    desk.init(producer=(5, 1))
    assert desk.transaction.admits(T0)


def test_who_is_fenced_meanwhile_hears_it_then():
    desk = upgraded()
    desk.init(E.PRODUCER_FENCED)
    assert desk.state is S.FATAL_ERROR


@pytest.mark.parametrize("verb", ["commit", "abort"])
@pytest.mark.parametrize("asked", [False, True])
def test_a_transaction_of_nothing_needs_no_epoch_for_that(verb, asked):
    desk = upgraded()
    if asked:
        desk.request(ApiKey.INIT_PRODUCER_ID)
    operation = desk.begin_verb(getattr(desk.transaction, verb))
    if asked:
        desk.answer(m.InitProducerIdResponse(producer_id=5, producer_epoch=1))
    desk.nothing()
    assert desk.ended[operation] is None
    desk.transaction.heard()
    desk.transaction.begin()
    if asked:
        assert desk.transaction.admits(T0)
    else:
        desk.init(producer=(5, 1))
    assert not desk.transaction.explicit


@pytest.mark.parametrize("verb", ["commit", "abort"])
@pytest.mark.parametrize("first", ["the verb", "the loss"])
@pytest.mark.parametrize("level", [0, 2])
def test_an_epoch_that_was_asked_for_is_heard_of_before_the_next_transaction(verb, first, level):
    """The coordinator may have given it, and its answer was lost: the one before is fenced then."""
    desk = upgraded()
    desk.request(ApiKey.INIT_PRODUCER_ID)
    lose = functools.partial(desk.fail, errors.DisconnectedError("lost"))
    if first == "the loss":
        lose()
    operation = desk.begin_verb(getattr(desk.transaction, verb))
    if first == "the verb":
        lose()
    assert operation not in desk.ended
    desk.find()
    assert desk.init(producer=(5, 1)).producer_epoch == 0
    desk.nothing()
    assert desk.ended[operation] is None
    desk.transaction.heard()
    desk.links.level = level  # it was taken back
    desk.transaction.begin()
    desk.transaction.use(T0)
    if level:
        assert desk.transaction.admits(T0)
    else:
        assert desk.add().v3_and_below_producer_epoch == 1
    assert desk.identity.producer_epoch == 1


@pytest.mark.parametrize("what", ["a batch", "offsets"])
@pytest.mark.parametrize("lost", [False, True])
def test_what_waits_for_an_epoch_when_it_is_committed_gets_one(what, lost):
    desk = upgraded()
    if lost:
        desk.request(ApiKey.INIT_PRODUCER_ID)
    if what == "offsets":
        desk.begin_verb(desk.transaction.send_offsets, GROUP, OFFSETS)
    desk.idle = what == "offsets"
    operation = desk.begin_verb(desk.transaction.commit)
    if lost:
        desk.fail(errors.DisconnectedError("lost"))
        desk.find()
    desk.init(producer=(5, 1))
    if what == "offsets":
        desk.find("g")
        assert desk.commit_offsets().producer_epoch == 1
    else:
        assert desk.transaction.admits(T0)
        desk.nothing()
        desk.idle = True
    assert desk.end(producer=(5, 2)).producer_epoch == 1
    assert desk.ended[operation] is None


def test_what_waits_for_an_epoch_when_it_is_aborted_needs_none():
    desk = upgraded()
    desk.idle = False
    operation = desk.begin_verb(desk.transaction.abort)
    desk.nothing()
    desk.idle = True
    desk.nothing()
    assert desk.ended[operation] is None


def test_coordinators_that_give_no_epochs_are_told_of_everything_as_ever():
    desk = upgraded(init_version=2)
    assert desk.transaction.explicit
    assert not desk.transaction.admits(T0)
    desk.add()
    assert desk.transaction.admits(T0)
